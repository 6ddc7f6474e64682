"""Predicted weights, memory and seconds; what a device was measured to do.

predicted          for all rows of a space at once
columns            the rows as columns of numbers
layered            the same for many points of a space of layers
tree_prices        what a tree costs by a sample of its points, for display
prices             what a whole space costs, for display
calibration        a device's prices, by a short run
calibration_check  networks that the fit has not seen
probes             steps, validations and processes, measured
speed              the fit of a device to timed trainings
finished           trials that the fit may use
"""
