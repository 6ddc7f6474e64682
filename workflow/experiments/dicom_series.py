"""Volumes as DICOM series: MR images with the geometry of their affine, as a scanner would store them; to
fill an archive with simulated volumes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import nibabel as nib
import numpy as np
import typer
from numpy.typing import NDArray
from pydicom.dataset import FileDataset, FileMetaDataset
from pydicom.uid import UID, ExplicitVRLittleEndian
from pynetdicom.sop_class import MRImageStorage  # type: ignore[attr-defined]

from fovnet.cli import main
from fovnet.cli.screen import out

UID_ROOT = "1.2.826.0.1.3680043.8.498"
FIRST_NUMBER = 1_000_000  # in the UIDs, which are all of one length
RAS_TO_LPS = np.diag([-1.0, -1.0, 1.0])

app = typer.Typer(add_completion=False)


class Grid(NamedTuple):
    """Voxels (i, j, k) int16, a slice for each k, and the affine (4, 4) from them to RAS+ millimetres."""

    voxels: NDArray[np.int16]
    affine: NDArray[np.float64]


def read_grid(path: Path, largest: tuple[int, int, int] | None = None) -> Grid:
    """The grid of a NIfTI file as it is stored; with `largest`, in RAS+, and of each axis every nth
    voxel, so that it has at most so many."""
    image: Any = nib.load(path)
    if largest is not None:
        image = nib.as_closest_canonical(image)  # type: ignore[no-untyped-call]
        steps = [-(-size // limit) for size, limit in zip(image.shape, largest, strict=True)]
        image = image.slicer[tuple(slice(None, None, step) for step in steps)]
    return Grid(np.asarray(image.dataobj).astype(np.int16), image.affine)


def series_images(
    grid: Grid, series_uid: str, elements: Mapping[str, Any]
) -> Iterator[FileDataset]:
    """An image for each slice of a grid, with further elements by keyword, among them
    StudyInstanceUID; its SOP Instance UID is the series' and its number."""
    directions = RAS_TO_LPS @ grid.affine[:3, :2]
    spacing_mm = np.linalg.norm(directions, axis=0)
    for index in range(grid.voxels.shape[2]):
        image = _empty_image(f"{series_uid}.{index + 1}")
        image.SeriesInstanceUID = series_uid
        image.InstanceNumber = index + 1
        position_mm = RAS_TO_LPS @ (grid.affine @ [0, 0, index, 1])[:3]
        image.ImagePositionPatient = [f"{value:.6g}" for value in position_mm]
        image.ImageOrientationPatient = [
            f"{value:.9f}" for value in (directions / spacing_mm).T.ravel()
        ]
        image.PixelSpacing = [f"{value:.9g}" for value in spacing_mm[::-1]]
        pixels = np.ascontiguousarray(grid.voxels[:, :, index].T)
        image.Rows, image.Columns = pixels.shape
        image.PixelData = pixels.tobytes()
        for keyword, value in elements.items():
            setattr(image, keyword, value)
        yield image


def _empty_image(uid: str) -> FileDataset:
    """A signed MR image of 16 bits, without geometry and pixels."""
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = MRImageStorage
    meta.MediaStorageSOPInstanceUID = UID(uid)
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    image = FileDataset("", {}, file_meta=meta, preamble=bytes(128))
    image.SOPClassUID = MRImageStorage
    image.SOPInstanceUID = UID(uid)
    image.Modality = "MR"
    image.ImageType = ["ORIGINAL", "PRIMARY", "M", "ND"]
    image.SamplesPerPixel = 1
    image.PhotometricInterpretation = "MONOCHROME2"
    image.BitsAllocated = 16
    image.BitsStored = 16
    image.HighBit = 15
    image.PixelRepresentation = 1
    return image


@app.command()
def write_volumes(
    volumes: Annotated[Path, typer.Argument(help="A folder that `fovnet phantom` wrote.")],
    out_folder: Annotated[Path, typer.Option("--out", help="A folder a series is written there.")],
    most: Annotated[int, typer.Option(min=1, help="Volumes, at most.")] = 300,
    slices: Annotated[int, typer.Option(min=1, help="Volumes of more slices are left out.")] = 40,
) -> None:
    """Write volumes, evenly chosen, as series of studies of their own."""
    paths = [
        path
        for path in sorted((volumes / "volumes").glob("*.nii.gz"))
        if nib.load(path).shape[2] <= slices  # type: ignore[attr-defined]
    ]
    image_count = 0
    chosen = np.unique(np.linspace(0, len(paths) - 1, most).astype(int)).tolist()
    for index in chosen:
        study_uid = f"{UID_ROOT}.{FIRST_NUMBER + index}"
        series_folder = out_folder / paths[index].name.removesuffix(".nii.gz")
        series_folder.mkdir(parents=True)
        elements = {
            "StudyInstanceUID": study_uid,
            "PatientID": f"P{index}",
            "StudyDate": "20260101",
        }
        for image in series_images(read_grid(paths[index]), f"{study_uid}.1", elements):
            image.save_as(
                series_folder / f"{image.InstanceNumber:04}.dcm", enforce_file_format=True
            )
            image_count += 1
    out.print(f"{len(chosen)} series of {image_count:,} images: {out_folder}")


if __name__ == "__main__":
    main(app)
