"""Members' outputs on slices, by torch or ONNX Runtime."""
