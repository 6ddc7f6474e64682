"""The simulated scanner: tissues as data, signal equations, contrasts, flaws; `scan.scan` makes an
image of any label volume.

It is independent of people: simulated bodies, bottles of water and users' segmentations are all
scanned with it.

    scan  an image of any labels
"""
