"""A training: its steps, checkpoints, and beginning.

    train          from a seed to a record
    progress       its state, for checkpoints and reports
    warm_start     with the members of an ensemble to begin from
    class_weights  what each class and each volume counts; without torch at its import
    beginning_weights  these members' weights, loaded or blended
    loss_curves    of a training that has not ended; without torch at its import
    precision      of the weights that are kept
    orientation    of the network that knows the view

Behind these doors: `train_step`, `checkpoint` and `optimisers`.
"""
