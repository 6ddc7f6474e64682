"""Networks: shapes, layers, weights on disk, the axes of the space.

    architecture  a network as numbers; without torch
    model         the same as layers
    weights       on disk, with their architecture
    facts         what a weights file says beside its weights; without torch at its import
    mixture       an ensemble as one torch module
    axes          of the space
    layered       a network of layers, each with numbers of its own; without torch
    layered_configuration  the same, and its optimiser, from a configuration; without torch
    layered_tree  what a tree must be so that its points are such networks; without torch
    layered_model  networks of layers in torch, and the network of any family

Behind these doors: `slice_only`, networks without their other inputs, and `dropout`.
"""
