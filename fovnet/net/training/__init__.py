"""A training: its steps, checkpoints, and beginning.

    train        from a seed to a record
    progress     its state, for checkpoints and reports
    warm_start   with the members of an ensemble to begin from
    precision    of the weights that are kept
    orientation  of the network that knows the view

Behind these doors: `train_step` and `checkpoint`.
"""
