"""fovnet: which part of the body does an MRI volume show, from which millimetre to which, and how sure is that."""

__version__ = "0.1.0"
