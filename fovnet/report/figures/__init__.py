"""The charts of the report, each from numbers to a matplotlib Figure, and the pictures of a volume.

charts              all figures of the report, by the names that its template uses
flow                the way of the data, and risk against coverage
search_explanation  a search explained: convergence, forecasts, effects
rungs, descent      two kinds of search
learning            the losses of one training
layers              a network of layers
side_by_side        several searches

body          a volume as all its pictures show it: heights, sizes, lanes of spans
body_figure   its picture as a Figure, for the report and as PNG: with raw curves and the truth
body_drawing  the same on its own page, as numbers for SVG: with a second view and borders'
              intervals
thumbnail     the same, small, for a list
views         the coronal and the sagittal view of a stack of slices
"""
