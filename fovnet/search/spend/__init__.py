"""How much to spend: whether a slot begins a configuration or goes on with one, and up to how many epochs.

    schedule  the settings of a Spend, the rungs and the brackets
    book      what a Spend is told
    full, hyperband, asha  the Spends
    spends    them by name, and which checkpoints they still need
    envelope  the loss above which a trial is pruned
"""
