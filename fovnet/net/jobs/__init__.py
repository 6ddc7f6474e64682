"""Trainings of a run: their data, processes, and the search that asks for them.

run              what its results folder holds: slices, the last finished search
search_plan      the search that a configuration describes
trials           a search on sliced volumes
training_data    the labelled slices of a search
single_training  one configuration, in this process
workers          processes that train, and may die
"""
