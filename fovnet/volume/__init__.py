"""From a file to slices; the only package that handles affines.

    sources     a volume on disk: found, recognised, read
    slices      its axial slices, and other pictures of it
    collection  labelled volumes in tables, and their slices on disk
    adapters    from published data sets to these tables
    formats     NIfTI, NRRD, MetaImage, MGH, Analyze, GIPL: a file each
    dicom       series, their pixels, and what their headers say
    volume      `Volume`: voxels, and the affine that places them
    orient      axes, and how they become right, front and head
    intensity   which intensities are black and white
    unpacking   the bytes of a file, decompressed

Behind these doors: `grid`, the voxels of a format that stores plain numbers; `checks`, whether an
array can be an MR volume; `filled`, constants where nothing was measured.
"""
