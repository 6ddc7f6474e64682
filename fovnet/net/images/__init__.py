"""What the networks see: channels of input, augmentation.

    inputs    the images of training and validation, by torch
    unwarped  those of prediction, by numpy
    augment   a whole batch, on its device

Behind these doors: `distort` and `resampling`.
"""
