"""How much to spend: whether a slot begins a configuration or goes on with one, and up to how many epochs.

schedule  the settings of a Spend, the rungs and the brackets
ledger    what a Spend is told
hyperband, asha  two Spends
spends    all by name, and which checkpoints they still need
envelope  the loss above which a trial is pruned
"""
