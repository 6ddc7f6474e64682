"""The version of the package; on its own, so that every file may read it."""

__version__ = "0.1.0"
