"""Members' outputs on slices, by torch or ONNX Runtime.

    engines         the choice among them
    member_outputs  probabilities and features of each member
    last_layer      what it is given, and another one in its place

Behind these doors: `graph` for ONNX, and `side_by_side`, several computations at once.
"""
