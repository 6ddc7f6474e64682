"""From DICOM objects in files, folders and archives to volumes.

reading  one volume
survey   the series of a container, from headers alone
address  of one series in a container
header   of an object, without its pixels
pixels   intensities, decoded and rescaled
decoding  of compressed pixels, and which transfer syntaxes are read
source   objects in files, folders and archives
table    the series found, a row each
mosaic   images that hold several slices
triage   which kinds of series there are, and which are read
"""
