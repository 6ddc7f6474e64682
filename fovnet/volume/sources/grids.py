"""The shape and affine of a volume, read from its header without its voxels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fovnet.volume.formats import metaimage, nifti
from fovnet.volume.orient import find_closest_axes
from fovnet.volume.sources.kind import file_kind
from fovnet.volume.sources.readers import READERS, find_reader, run_guarded

# largest spacing over the next largest: from here on it gives the scan plane; nearer to 1 it is a 3-D scan
LEAST_THICKNESS_RATIO = 1.5
SAME_POSITION_MM = 0.1  # two grids are the same if no pair of corners lies farther apart
PLANE_NAMES = ("sagittal", "coronal", "axial")


@dataclass(frozen=True)
class VolumeGrid:
    """The number of voxels along each stored axis (3,), and the (4, 4) affine from voxel index to
    scanner millimetres (RAS+)."""

    shape: tuple[int, int, int]
    vox_to_ras: NDArray[np.float64]

    @property
    def spacing_mm(self) -> NDArray[np.float64]:
        """(3,) distance between neighbouring voxels along each stored axis."""
        return np.asarray(np.linalg.norm(self.vox_to_ras[:3, :3], axis=0))

    @property
    def slice_count(self) -> int:
        """The number of slices from feet to head of the volume in its closest RAS order."""
        return self.shape[self._stored_axis(2)]

    @property
    def width_mm(self) -> float:
        """The field of view from left to right, in mm."""
        left_right_axis = self._stored_axis(0)
        return float(self.shape[left_right_axis] * self.spacing_mm[left_right_axis])

    @property
    def plane(self) -> str:
        """The scan plane, perpendicular to the axis of the largest spacing; empty for nearly cubic
        voxels."""
        thick_axis = int(np.argmax(self.spacing_mm))
        in_plane_mm = np.delete(self.spacing_mm, thick_axis)
        ras_axis = int(find_closest_axes(self.vox_to_ras)[thick_axis, 0])
        if self.spacing_mm[thick_axis] < LEAST_THICKNESS_RATIO * in_plane_mm.max():
            return ""
        return PLANE_NAMES[ras_axis]

    def is_same_as(self, other: VolumeGrid) -> bool:
        """Whether both have the same shape and the same corners, to 0.1 mm."""
        if self.shape != other.shape:
            return False
        corner_indices = np.indices((2, 2, 2)).reshape(3, 8).T * (np.asarray(self.shape) - 1)
        affine_difference = self.vox_to_ras - other.vox_to_ras
        shifts_mm = corner_indices @ affine_difference[:3, :3].T + affine_difference[:3, 3]
        return bool(np.abs(shifts_mm).max() <= SAME_POSITION_MM)

    def _stored_axis(self, ras_axis: int) -> int:
        return int(np.flatnonzero(find_closest_axes(self.vox_to_ras)[:, 0] == ras_axis)[0])


def read_nifti_grid(path: Path) -> VolumeGrid:
    """The grid of a NIfTI file.  Raises VolumeError if its header cannot be read or its grid is not
    a scanner's."""
    # its error states what the file is instead: empty, a text, a git-annex pointer
    nifti_reader = find_reader(file_kind(path))
    sizes, vox_to_ras = run_guarded(nifti_reader, path, lambda: nifti.header_of(path))
    return VolumeGrid((sizes[0], sizes[1], sizes[2]), vox_to_ras)


def read_metaimage_grid(path: Path) -> VolumeGrid:
    """The grid of a MetaImage file (.mha, .mhd).  Raises VolumeError if its header cannot be read."""
    reader = next(reader for reader in READERS if reader.name == "MetaImage")
    axis_lengths, vox_to_ras = run_guarded(reader, path, lambda: metaimage.header_of(path))
    return VolumeGrid((axis_lengths[0], axis_lengths[1], axis_lengths[2]), vox_to_ras)
