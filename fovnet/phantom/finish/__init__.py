"""What people do to images before they are shared: skulls and faces removed, backgrounds blackened, headers that claim other axes.

A plan of `acquisition` holds which of it is done; `collection` does it, and the labels follow.
"""
