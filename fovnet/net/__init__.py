"""The networks: their family, training, cost and inference; the only room that imports torch or
monai.

    family     shapes, layers, weights on disk, and the axes of the space
    images     what the networks see: channels of input, and their augmentation
    training   a training, from its seed to its record; beginning with other networks
    cost       memory and seconds, predicted, and what a device was measured to do
    inference  members' outputs on slices, by torch or ONNX Runtime
    jobs       the trainings of a run: their data and worker processes
    recipe     the numbers that trainings share; without torch
    device     by its name; torch is imported when it is asked for
    faults     from an exception to the status of a training
    stopping   when a training ends; without torch

Behind these doors, without torch: `paths`, the files of a training.
"""
