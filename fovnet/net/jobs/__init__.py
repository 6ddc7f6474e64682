"""Trainings of a run: their data and processes.

trials           a search on sliced volumes
training_data    the labelled slices of a search
single_training  one configuration, in this process
workers          processes that train, and may die
"""
