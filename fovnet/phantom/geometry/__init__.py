"""Shapes in millimetres, from which anatomy is built, and their conversion to labels on a grid.

A `Solid` knows its box and which points are inside; `raster` paints solids, one over the other, on
any grid.

    raster  solids, painted on a grid
"""
