"""Slice probabilities to spans: the order of the body, decoded, with borders and confidences.

    spans        `Decision` on a volume: its spans, with their extents and confidences
    chain_model  the evidence of its slices for each region, and the decoding

Behind these doors: `boundaries` of regions, black `margins`, and the `presence` of each region.
"""
