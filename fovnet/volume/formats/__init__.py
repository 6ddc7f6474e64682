"""The formats other than DICOM, one module each, with `claims`, `files_of` and `read` for
`volume.sources.readers`.

A reader parses its header into a `grid.Grid`, whose module then reads the voxels.
"""
