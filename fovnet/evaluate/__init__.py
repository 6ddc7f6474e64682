"""Predictions and truth in, metrics with intervals out."""
