"""The formats that are not DICOM, one file each, for `volume.readers`: `claims`, `files_of` and `read`.

A reader parses its header into a `grid.Grid`; `slabs` then reads the numbers, whole or slab by slab.
"""
