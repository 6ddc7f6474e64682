"""Processing of images before they are shared: skulls and faces removed, backgrounds blackened,
headers that claim other axes.

A plan of `acquisition` says which of it is done; `collection` does it, and adapts the labels.
"""
