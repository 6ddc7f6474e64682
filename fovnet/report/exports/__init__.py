"""Answers handed on, for `fovnet export`: DICOM SR, copies with headers of their own, BIDS, and headers beside what the pixels show."""
