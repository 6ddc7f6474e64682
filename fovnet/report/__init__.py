"""Gather (numbers), draw (figures), pour (templates).

    content  what the report says, a file a chapter: numbers and strings, ready to be poured
    figures  its charts, and the pictures of one volume
    pages    the pages and their templates, the model card, and what `fovnet predict` writes
    exports  the formats of `fovnet export`
"""
