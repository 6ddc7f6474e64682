"""Networks: shapes, layers, weights on disk, the axes of the space.

    architecture  a network as numbers; without torch
    model         the same as layers
    weights       on disk, with their architecture
    facts         what a weights file says beside its weights; without torch at its import
    mixture       an ensemble as one torch module
    axes          of the space

Behind these doors: `slice_only`, networks without their other inputs.
"""
