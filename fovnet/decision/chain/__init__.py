"""Slice probabilities to spans: the order of the body, decoded, with borders and confidences.

    spans        `Spans` of a volume: regions, extents, confidences
    chain_model  the evidence of its slices for each region, and the decoding

Behind these doors: `boundaries`, `margins` and `presence`, of each region.
"""
