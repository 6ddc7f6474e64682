"""How every picture of fovnet is drawn and written, whatever it shows.

canvas  the style and colours of all figures, and their export to SVG and PNG
scales  logarithmic axes where values differ much, time in a readable unit
raster  greyscale slices as JPEG within a page
"""
