"""Where a volume lies and how it was sliced, from its header alone: no voxel is read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fovnet.volume.formats import metaimage, nifti
from fovnet.volume.orient import closest_axes

THICKER = 1.5           # a slice thickness of so many in-plane spacings shows the plane of the scan; nearer to 1 it is a 3-D scan
SAME_PLACE_MM = 0.1     # two grids are one where no corner lies farther apart
PLANES = ("sagittal", "coronal", "axial")


@dataclass(frozen=True)
class Grid:
    """Voxels along each stored axis (3,), and the (4, 4) affine from voxel index to scanner millimetres (RAS+)."""

    shape: tuple[int, int, int]
    vox_to_ras: NDArray[np.float64]

    @property
    def spacing_mm(self) -> NDArray[np.float64]:
        """(3,) distance between neighbouring voxels along each stored axis."""
        return np.asarray(np.linalg.norm(self.vox_to_ras[:3, :3], axis=0))

    @property
    def slices(self) -> int:
        """Slices from feet to head of the volume in its closest RAS order."""
        return self.shape[self._axis(2)]

    @property
    def wide_mm(self) -> float:
        """The field of view from left to right."""
        across = self._axis(0)
        return float(self.shape[across] * self.spacing_mm[across])

    @property
    def plane(self) -> str:
        """The plane it was scanned in, by the spacing; empty for nearly cubic voxels."""
        thick = int(np.argmax(self.spacing_mm))
        others = np.delete(self.spacing_mm, thick)
        towards = int(closest_axes(self.vox_to_ras)[thick, 0])
        return PLANES[towards] if self.spacing_mm[thick] >= THICKER * others.max() else ""

    def is_same_as(self, other: Grid) -> bool:
        """Whether both have the same voxels at the same places."""
        if self.shape != other.shape:
            return False
        corners = np.indices((2, 2, 2)).reshape(3, 8).T * (np.asarray(self.shape) - 1)
        apart = self.vox_to_ras - other.vox_to_ras
        return bool(np.abs(corners @ apart[:3, :3].T + apart[:3, 3]).max() <= SAME_PLACE_MM)

    def _axis(self, ras_axis: int) -> int:
        return int(np.flatnonzero(closest_axes(self.vox_to_ras)[:, 0] == ras_axis)[0])


def nifti_grid(path: Path) -> Grid:
    """The grid of a NIfTI file.  Raises VolumeError where the header cannot be read, or is no scanner's grid."""
    from fovnet.volume.readers import guarded, reader_of

    reader = reader_of(path)                # its refusal names what else the file is: empty, a text, a pointer of git-annex
    sizes, vox_to_ras = guarded(reader, path, lambda: nifti.header_of(path))
    return Grid((sizes[0], sizes[1], sizes[2]), vox_to_ras)


def metaimage_grid(path: Path) -> Grid:
    """The grid of a MetaImage file (.mha, .mhd).  Raises VolumeError where its header cannot be read."""
    from fovnet.volume.readers import READERS, guarded

    reader = next(reader for reader in READERS if reader.name == "MetaImage")
    sizes, vox_to_ras = guarded(reader, path, lambda: metaimage.header_of(path))
    return Grid((sizes[0], sizes[1], sizes[2]), vox_to_ras)
