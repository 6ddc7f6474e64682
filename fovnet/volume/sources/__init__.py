"""A volume on disk: found under a path, its format recognised, read within the memory there is.

source          `Source`: format, files and checksum, found out once; `read` gives the Volume
kind            what a file is: its state on disk and its first bytes, from one opening
discovery       the sources under some paths, and their volume_ids
shards          an archive listed once, and cut into lists that are answered one by one
shard_settings  what all shards share: settings that the survey keeps for the other steps
readers         the choice of the reader of a file, or why there is none
other_formats   what a file is that fovnet does not read, and what to try
memory          bytes that reading a source takes
in_memory       a nibabel image, or an array with its affine, in place of a file
grids           shape and affine, read from the header alone
"""
