"""What the networks see: channels of input, augmentation.

    inputs   the images of training, validation and prediction, made by the same code
    augment  a whole batch, on its device

Behind these doors: `distort` and `resampling`.
"""
