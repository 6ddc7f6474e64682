"""The network family, its cost, its training; the only package that imports torch or monai (and only in the
files that need them)."""
