"""Gather (numbers), draw (figures), pour (templates).

content  what the report says, one file per chapter: numbers and strings, ready for the templates
figures  its charts, and the pictures of one volume
pages    the pages and their templates, the model card, and what `fovnet predict` writes
exports  the formats of `fovnet export`
"""
