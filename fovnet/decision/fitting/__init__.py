"""The rule and its bars, chosen on the validation split.

tuning      the rule
objective   the loss by which it is chosen, in mm
thresholds  calibrations, and when not to answer
part_rules  the rules for the parts of regions
blending    how much of what was learned from a user is taken over
statement_bars  from which probability on a region is said to be shown, or not
"""
