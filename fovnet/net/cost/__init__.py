"""Predicted weights, memory and seconds; what a device was measured to do."""
