"""A training: its steps, checkpoints, and beginning."""
