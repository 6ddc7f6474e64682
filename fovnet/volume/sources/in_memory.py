"""Volumes that are in memory already: a nibabel image, or an array with its affine.

They are written to a temporary NIfTI file and read like any other, so that what is refused of a
file is refused of them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fovnet.errors import VolumeError

if TYPE_CHECKING:
    from nibabel import Nifti1Image

IN_MEMORY_NAME = "image"
# as many contrasts or echoes stand first in an array of MONAI, TorchIO or nnU-Net
MAX_CHANNELS = 16
WANTED_INPUT = "give a path, a nibabel image, or a numpy array (i, j, k) with its affine"
SCANNER_CODE = 1  # code of an affine: coordinates of the scanner


@contextmanager
def write_temporary_file(volume: Any, affine: ArrayLike | None = None) -> Iterator[Path]:
    """The path of a NIfTI file of the volume, while the block runs.

    volume  a nibabel image, with the affine it has; or an array (i, j, k) or (i, j, k, frames) of any real
            numbers; one of two axes is a single slice (i, j, 1)
    affine  of an array (4, 4): from its indices to scanner millimetres, x to the right, y to the front, z to
            the head
    Raises VolumeError "volume-geometry" for an array without an affine, or one that is no (4, 4),
    "volume-format" for what is neither image nor array, "volume-shape" for channels that stand first, and
    "volume-type" for what NIfTI cannot hold.
    """
    import nibabel
    from nibabel.spatialimages import HeaderDataError, SpatialImage

    _refuse_channels_first(volume)
    with tempfile.TemporaryDirectory(prefix="fovnet-") as temporary_folder:
        path = Path(temporary_folder) / f"{IN_MEMORY_NAME}.nii"
        try:
            image = volume
            if not isinstance(volume, SpatialImage):
                image = _image_of_array(volume, affine)
            nibabel.save(image, path)
        except (
            HeaderDataError,
            nibabel.filebasedimages.ImageFileError,
            TypeError,
            ValueError,
        ) as fault:
            raise VolumeError(
                "volume-type",
                f"the image given: no NIfTI file can hold it ({fault}); give an array of real numbers.",
            ) from fault
        yield path


def _image_of_array(array: Any, affine: ArrayLike | None) -> Nifti1Image:
    """The image of an array."""
    import nibabel

    if not isinstance(array, np.ndarray):
        raise VolumeError("volume-format", f"{type(array).__name__}: not a volume; {WANTED_INPUT}.")
    if affine is None:
        remedy = "give affine=, the (4, 4) from indices to scanner millimetres, RAS+"
        raise VolumeError(
            "volume-geometry",
            f"the array {array.shape} has no affine, which says which way is up; {remedy}.",
        )
    affine_matrix = np.asarray(affine, dtype=np.float64)
    if affine_matrix.shape != (4, 4):
        raise VolumeError(
            "volume-geometry",
            f"the affine given is {affine_matrix.shape}, but must be (4, 4): from indices to millimetres.",
        )
    header = nibabel.Nifti1Header()  # type: ignore[no-untyped-call]
    header.set_sform(affine_matrix, SCANNER_CODE)  # type: ignore[no-untyped-call]
    header["pixdim"][1:4] = np.linalg.norm(affine_matrix[:3, :3], axis=0)
    # NIfTI with two axes has no spacing of slices, and nibabel would write 1 for the affine's
    if array.ndim == 2:
        array = array[..., np.newaxis]
    array = _as_storable_type(array)
    header.set_data_dtype(array.dtype)  # type: ignore[no-untyped-call]
    return nibabel.Nifti1Image(array, None, header)  # type: ignore[no-untyped-call]


def _as_storable_type(array: NDArray[Any]) -> NDArray[Any]:
    """The array in a type that NIfTI readers know: 64-bit integers, half floats and bits as
    float32."""
    is_rare_type = array.dtype.kind == "b" or array.dtype in (np.int64, np.uint64, np.float16)
    if is_rare_type:
        return array.astype(np.float32)
    return array


def _refuse_channels_first(volume: Any) -> None:
    """Raises VolumeError "volume-format" for a tensor, with its array in words, and "volume-shape"
    for an array or image whose first axis seems to count channels."""
    from nibabel.spatialimages import SpatialImage

    shape = tuple(getattr(volume, "shape", ()))
    channel_index = ""
    if _has_channels_first(shape):
        channel_index = f"[{', '.join('0' * (len(shape) - 3))}]"
    if hasattr(volume, "detach"):  # torch.Tensor, and MetaTensor of MONAI
        array_expression = f"volume{channel_index}.detach().cpu().numpy()"
        raise VolumeError(
            "volume-format",
            f"{type(volume).__name__} {shape}: a tensor, not a volume; {WANTED_INPUT}: "
            f"predict({array_expression}, affine=...).",
        )
    if channel_index and isinstance(volume, np.ndarray | SpatialImage):
        channel_expression = f"volume{channel_index}"
        if isinstance(volume, SpatialImage):
            channel_expression = (
                f"nibabel.Nifti1Image(volume.dataobj{channel_index}, volume.affine)"
            )
        raise VolumeError(
            "volume-shape",
            f"the {type(volume).__name__} {shape} has {shape[0]} first, which seems to count channels; "
            f"(i, j, k) is wanted. Give one channel, {channel_expression}, or of (i, j, k, frames) one frame.",
        )


def _has_channels_first(shape: tuple[int, ...]) -> bool:
    """Whether an array of this shape seems to be (channels, i, j, k), or have more axes in front.

    So may be (i, j, k, frames) of a thin sagittal series: then one frame of it gives the same
    answer.
    """
    if len(shape) <= 3 or 0 in shape:
        return False
    return shape[0] == 1 or (shape[0] <= MAX_CHANNELS and shape[0] < min(shape[1:]))
