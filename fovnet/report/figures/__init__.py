"""The charts of the report, each a function from numbers to a matplotlib Figure, and the pictures of one volume.

charts         all figures of the report, by the names that its template uses
flow           the way of the data, and risk against coverage
explained      a search explained: convergence, forecasts, effects;  rungs, descent  those of two kinds of search
whole_body     the picture of a volume, for the report and as PNG
body_drawing   the drawing of a volume on its own page: numbers for SVG, with a second view and the borders' intervals
views          the coronal and the sagittal view of a stack of slices
learning       the losses of one training;  side_by_side  several searches
"""
