"""The body of one person, organ by organ: each file gives paints (a solid, its tissue, its layer)
in mm of the written anatomy.

`body` combines them: `label_volume` gives a person's labels on a grid, `landmarks` the heights of
the borders between regions.

    body  the labels of a person on a grid
"""
