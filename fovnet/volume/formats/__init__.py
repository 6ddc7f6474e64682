"""The formats other than DICOM, one module each, with `claims`, `files_of` and `read` for
`volume.sources.readers`.

    nifti  whose headers label maps share

A reader parses its header into a `grid.StoredGrid`, whose module then reads the voxels.
"""
