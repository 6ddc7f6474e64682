"""Networks: shapes, layers, weights on disk, the axes of the space."""
