"""Formats of `fovnet export`: DICOM SR, copies with corrected headers, BIDS, and a comparison of headers with
answers."""
