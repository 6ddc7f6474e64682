"""Spaces whose number of variables changes: a repeat has copies of a group, a branch variables of its own.

    costs        what a point costs, and why it cannot be trained
    first_point  where a search begins
    moves        points drawn, neighbouring and varied
    start        the start of a search as a user writes it
    tree         `Tree`: which variables a point has, its one written form
    variables    the values of a variable, and their places on [0, 1]

Behind these doors: `streams`, the random numbers of each purpose.
"""
