"""Gather (numbers), draw (figures), pour (templates)."""
