"""Trainings of a run: their data, processes, and the search that asks for them."""
