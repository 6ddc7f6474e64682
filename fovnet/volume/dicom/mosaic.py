"""Mosaics: the slices of a volume as tiles of one large image, as Siemens and United Imaging (UIH)
write them.

Siemens: the position in the header is that of the mosaic's corner, as if the large image were one
slice with the same centre; the corner of a slice lies half the difference of the two sizes further
in.  Number and normal of the slices are in the private CSA header (nibabel reads it). UIH ("GRID"):
a private sequence has an item for each tile, with the standard's own ImagePositionPatient of that
slice.  Twenty slices lie in five columns and four rows, where Siemens leaves a fifth row empty.
Sources: nibabel, "Siemens format DICOM with CSA header" and "DICOM mosaic"
(nipy.org/nibabel/dicom/dicom_mosaic.html); dcm2niix, "UIH".
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fovnet.errors import VolumeError
from fovnet.volume.dicom.header import (
    Frame,
    Vector,
    as_real_number,
    as_values,
    as_vector,
    as_whole_number,
    make_lookup,
)

MAX_SLICES = 4096  # of a mosaic: 64 × 64 tiles; more are damage
UNIT_LENGTH_TOLERANCE = 0.01  # of the length of the normal
GRID_IMAGE_TYPES = {"VFRAME", "GRID"}
MOSAIC_IMAGE_TYPES = {"MOSAIC"} | GRID_IMAGE_TYPES


def is_mosaic(frame: Frame) -> bool:
    """Whether the image type is that of a mosaic."""
    return "MOSAIC" in frame.image_type


def make_mosaic_frames(frame: Frame, dataset: Any) -> list[Frame]:
    """A Frame for each tile that holds a slice, in the order of acquisition.

    A mosaic has only one position, so here alone the distance of slices is taken from
    SpacingBetweenSlices, with a note. Raises VolumeError "volume-mosaic" if geometry or CSA header
    is missing or damaged, or does not fit the image.
    """
    slice_count, normal = _read_csa(frame, dataset)
    step_mm = as_real_number(make_lookup(dataset)("SpacingBetweenSlices")) or 0.0
    if (
        frame.orientation is None
        or frame.position_mm is None
        or frame.spacing_mm is None
        or step_mm <= 0
    ):
        raise VolumeError(
            "volume-mosaic",
            f"{frame.dicom_object}: a mosaic without position, orientation, pixel spacing or spacing "
            "between slices. Export it again with its geometry.",
        )
    tiles_down = math.ceil(math.sqrt(slice_count))
    tile_rows, tile_columns = _tile_size(frame, slice_count, tiles_down)
    along_row = np.asarray(frame.orientation[:3])
    along_column = np.asarray(frame.orientation[3:])
    margins_mm = (
        np.asarray([frame.rows - tile_rows, frame.columns - tile_columns]) / 2 * frame.spacing_mm
    )
    first_position = (
        np.asarray(frame.position_mm) + along_row * margins_mm[1] + along_column * margins_mm[0]
    )
    note = f"mosaic of {slice_count} slices, {step_mm:g} mm apart as its header says: it holds one position"
    return _cut_tiles(
        frame,
        tile_rows,
        tile_columns,
        [
            tuple(map(float, first_position + slice_index * step_mm * normal))
            for slice_index in range(slice_count)
        ],
        note,
    )


def is_grid(frame: Frame, dataset: Any) -> bool:
    """Whether it is a UIH grid, perhaps one that has lost its private sequence."""
    return len(_grid_items(dataset)) > 1 or (
        frame.position_mm is None and bool(GRID_IMAGE_TYPES & set(frame.image_type))
    )


def make_grid_frames(frame: Frame, dataset: Any) -> list[Frame]:
    """A Frame for each item of the private sequence, in its order.

    Raises VolumeError "volume-mosaic" if the sequence is missing or without positions, or does not
    fit the image.
    """
    item_positions = [
        as_vector(make_lookup(slice_item)("ImagePositionPatient"), 3)
        for slice_item in _grid_items(dataset)
    ]
    slice_positions = [position for position in item_positions if position is not None]
    if not slice_positions or len(slice_positions) < len(item_positions):
        raise VolumeError(
            "volume-mosaic",
            f"{frame.dicom_object}: a grid of United Imaging without the private sequence (0065,1051) "
            "that places its slices. Export it with its private attributes, or convert the "
            "original with dcm2niix.",
        )
    tile_rows, tile_columns = _tile_size(
        frame,
        len(slice_positions),
        math.ceil(len(slice_positions) / math.ceil(math.sqrt(len(slice_positions)))),
    )
    return _cut_tiles(
        frame,
        tile_rows,
        tile_columns,
        slice_positions,
        f"grid of {len(slice_positions)} slices, placed by private attributes of United Imaging",
    )


def _grid_items(dataset: Any) -> tuple[Any, ...]:
    return tuple(
        item for item in as_values(make_lookup(dataset)("uih_slices")) if hasattr(item, "get")
    )


def _tile_size(frame: Frame, slice_count: int, tiles_down: int) -> tuple[int, int]:
    """(rows, columns) of a tile, if as many as `tiles_down` lie one above the other.  Raises VolumeError
    "volume-mosaic"."""
    tiles_across = math.ceil(math.sqrt(slice_count))
    if (
        frame.rows % tiles_down
        or frame.columns % tiles_across
        or not frame.rows
        or not frame.columns
    ):
        raise VolumeError(
            "volume-mosaic",
            f"{frame.dicom_object}: {slice_count} slices need {tiles_down} × {tiles_across} tiles, which "
            f"{frame.rows} × {frame.columns} pixels do not divide into. Export it again.",
        )
    return frame.rows // tiles_down, frame.columns // tiles_across


def _cut_tiles(
    frame: Frame, tile_rows: int, tile_columns: int, slice_positions: Sequence[Vector], note: str
) -> list[Frame]:
    """A Frame for each tile, row by row."""
    # every mosaic is a volume of its own: a series of them is a time series
    attributes = tuple(
        {**dict(frame.volume_attributes), "temporal position": frame.sop_uid}.items()
    )
    tiles_across = frame.columns // tile_columns
    return [
        replace(
            frame,
            volume_attributes=attributes,
            rows=tile_rows,
            columns=tile_columns,
            frame_number=0,
            position_mm=slice_position,
            notes=(note,),
            tile_origin=(
                tile_index // tiles_across * tile_rows,
                tile_index % tiles_across * tile_columns,
            ),
        )
        for tile_index, slice_position in enumerate(slice_positions)
    ]


def _read_csa(frame: Frame, dataset: Any) -> tuple[int, Any]:
    """(number of slices, normal (3,) towards the next slice) from the private header."""
    with warnings.catch_warnings():
        # nibabel warns on import that its DICOM readers are experimental
        warnings.simplefilter("ignore")
        from nibabel.nicom import csareader
    csa_reader: Any = csareader
    try:
        csa_header = csa_reader.read(bytes(make_lookup(dataset)("csa")))
        slice_count = as_whole_number(csa_reader.get_n_mosaic(csa_header))
        normal = np.asarray(csa_reader.get_slice_normal(csa_header), dtype=np.float64)
    except Exception as fault:
        # missing or arbitrary bytes: the reader may raise any exception
        raise VolumeError(
            "volume-mosaic",
            f"{frame.dicom_object}: a mosaic whose CSA header (0029,1010) is missing or damaged, so "
            "nothing says how many slices it holds. Export it from the scanner again.",
        ) from fault
    if (
        not 1 <= slice_count <= MAX_SLICES
        or normal.shape != (3,)
        or not abs(float(np.linalg.norm(normal)) - 1) < UNIT_LENGTH_TOLERANCE
    ):
        raise VolumeError(
            "volume-mosaic",
            f"{frame.dicom_object}: {slice_count} slices along {np.round(normal, 3)} are impossible. Export it "
            "again.",
        )
    return slice_count, normal / np.linalg.norm(normal)
