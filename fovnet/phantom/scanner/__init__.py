"""The simulated scanner: tissues as data, signal equations, contrasts, flaws; `scan.scan` makes an image of any label volume.

It knows nothing of people: the simulated body, bottles of water and segmentations of one's own are all put into it.
"""
