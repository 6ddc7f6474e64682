"""Slice probabilities to spans: the order of the body, decoded, with borders and confidences."""
