"""The charts of the report, each from numbers to a matplotlib Figure, and both pictures of a volume.

charts         all figures of the report, by the names that its template uses
flow           the way of the data, and risk against coverage
explained      a search explained: convergence, forecasts, effects;  rungs, descent  two kinds of search
whole_body     the picture of a volume as a Figure, for the report and as PNG: with raw curves and the truth
body_drawing   the same volume on its own page, as numbers for SVG: with a second view and borders' intervals
spans          what both have in common: the height of the picture, and spans side by side
views          the coronal and the sagittal view of a stack of slices
learning       the losses of one training;  side_by_side  several searches
"""
