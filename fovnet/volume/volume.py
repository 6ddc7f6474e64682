"""A volume: voxels and the affine that places them in the scanner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NO_AXIS = -1


@dataclass(frozen=True)
class Images:
    """The source images of a volume, one for each index along `axis` of its grid: the link from a
    result to the archive.

    axis    NO_AXIS if the volume was resampled, so that every slice crosses several of them
    uids    SOP instance UIDs
    frames  number in a multi-frame object, from 1; 0 if the object is one image
    """

    axis: int
    uids: tuple[str, ...]
    frames: tuple[int, ...]

    def reorient(self, axis: int, reverse: bool) -> Images:
        """The same images along the new axis, in reverse order if `reverse`."""
        index_step = 1
        if reverse:
            index_step = -1
        return Images(axis, self.uids[::index_step], self.frames[::index_step])


@dataclass(frozen=True)
class Volume:
    """MR intensities on a regular grid.

    voxels            (i, j, k) float32, finite
    vox_to_ras        (4, 4) float64, voxel index to scanner millimetres, RAS+ world (x to the
                      right, y to the front, z to the head)
    source            path, for errors and the report
    notes             what was done or chosen while reading ("first of 3 frames"), in sentences
    label_slice_z_mm  (n,) scanner heights of the slices that labels count, if these are not the
                      slices of this grid: a volume resampled by `orient.to_ras` keeps those of its
                      closest-canonical form; else None
    images            the source images, if the format has any; else None

    Readers return the grid as stored; `orient.to_ras` returns it with axes running left→right,
    back→front, feet→head.
    """

    voxels: NDArray[np.float32]
    vox_to_ras: NDArray[np.float64]
    source: str
    notes: tuple[str, ...] = ()
    label_slice_z_mm: NDArray[np.float64] | None = None
    images: Images | None = None

    @property
    def spacing_mm(self) -> NDArray[np.float64]:
        """(3,) distance between neighbouring voxels along each axis; derived, so it cannot disagree
        with the affine."""
        return np.asarray(np.linalg.norm(self.vox_to_ras[:3, :3], axis=0))

    def slice_heights_mm(self) -> NDArray[np.float64]:
        """(k,) scanner z at the centre of each slice plane along the third axis, rounded to 1e-6
        mm.

        Rounded because an affine flipped twice differs from the original in its fourteenth digit.
        """
        plane_centre = (np.asarray(self.voxels.shape[:2]) - 1) / 2
        first_height_mm = self.vox_to_ras[2, :2] @ plane_centre + self.vox_to_ras[2, 3]
        return np.asarray(
            np.round(first_height_mm + self.vox_to_ras[2, 2] * np.arange(self.voxels.shape[2]), 6)
            + 0.0
        )
