"""Members' outputs on slices, by torch or ONNX Runtime.

    engines         the choice among them
    torch_engine    the networks as they were trained
    onnx_engine     their graph, without torch
    graph           the graph as a file of a model
    member_outputs  probabilities and features of each member, by torch
    last_layer      what it is given, and another one in its place

Behind these doors: `probe`, by which a graph is tried, and `side_by_side`, several computations at
once.
"""
