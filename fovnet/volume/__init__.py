"""From a file to slices; the only package that handles affines.

    discovery       the volumes under some paths, a `Source` each
    sources         Source: a volume on disk, its format, files, checksum; `read` gives the Volume
    slices          `slice_volume`: a source's SliceStack
    memory, parallel    what reading takes, and reading ahead within a budget
    collection, pack    labelled volumes in tables, and their slices on disk
    readers, formats, dicom     the choice of the reader, and the readers
"""
