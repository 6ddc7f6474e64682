"""The rule and its bars, chosen on the validation split.

    tuning      the rule
    objective   the loss by which it is chosen, in mm
    thresholds  calibrations, and when not to answer
"""
