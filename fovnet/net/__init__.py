"""The networks: their family, training, cost and inference; the only room that imports torch or monai.

    family     shapes, layers, weights on disk, and the axes of the space
    images     what the networks see: channels of input, and their augmentation
    training   a training, from its seed to its record; beginning with other networks
    cost       memory and seconds, predicted, and what a device was measured to do
    inference  members' outputs on slices, by torch or ONNX Runtime
    jobs       the trainings of a run: data, worker processes, and the search that asks for them
    recipe     the numbers that trainings share; without torch
    faults     from an exception to the status of a training

Behind these doors, without torch: `stopping`, when a training ends, and `paths`, its files.
"""
