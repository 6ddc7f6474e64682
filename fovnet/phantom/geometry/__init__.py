"""Shapes in millimetres, and what turns them into labels on a grid: what anatomy is built of.

A `Solid` knows its box and what is inside; `raster` paints solids, one over the other, on whatever grid is asked for.
"""
