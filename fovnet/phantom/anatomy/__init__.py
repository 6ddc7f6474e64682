"""The body of one person, organ by organ: each file gives paints (a solid, its tissue, its layer) in mm of the written anatomy.

`body` puts them together: `label_volume` gives the scanner a person's labels on a grid, `landmarks` the heights at which regions end.
"""
