"""A thing in the scanner: in fields of view of any size and plane, in any coil, sequence and
finish."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from fovnet.phantom.acquisition.coils import draw_surface_coil
from fovnet.phantom.acquisition.protocols import SEQUENCES
from fovnet.phantom.bodiless.kinds import HELD_OUT, TRAINING
from fovnet.phantom.bodiless.thing import Thing, log_uniform
from fovnet.phantom.finish.masks import BACKGROUND, Processing, apply_processing, draw_processing
from fovnet.phantom.geometry.raster import Grid, rasterise
from fovnet.phantom.geometry.solids import FAR_MM, Floats
from fovnet.phantom.scanner.artefacts import SLICE_AXIS_BY_PLANE, draw_flaws
from fovnet.phantom.scanner.contrasts import FreeContrast, draw_contrast
from fovnet.phantom.scanner.scan import Acquisition, Coil, LabelVolume, scan
from fovnet.phantom.scanner.sequence import PulseSequence, compute_signals
from fovnet.phantom.scanner.tissues import Tissue, find_visible_tissues
from fovnet.volume.volume import Volume

LABELS_PER_VOXEL = {
    "axial": (1, 1, 2),
    "coronal": (1, 2, 1),
    "sagittal": (2, 1, 1),
    "isotropic": (1, 1, 1),
}
"""Label voxels along each axis that make one voxel: thick slices are means of two."""
PLANES = tuple(LABELS_PER_VOXEL)
CAREFUL_SHARE = 0.3  # without flaws, in an even coil, with the contrast of physics
UPRIGHT_SHARE = 0.5  # share of things upright
LYING_SHARE = 0.2  # share of things along the left-right axis
PIXEL_COUNT_RANGE = (80, 176)  # voxels across a slice
SLICE_COUNT_RANGE = (8, 56)
FIELD_FACTOR_RANGE = (0.65, 2.4)
"""Field of view over the size of what is in it: cut off, or small within."""
LEAST_FIELD_MM = 60.0  # of a field of view
MOST_FIELD_MM = 480.0
SEQUENCE_TRIES = 8  # sequences drawn at most
FAINT_SIGNAL = 0.004  # signal of what is hardly seen
SLICE_STEP_RANGE_MM = (1.5, 9.0)  # between slices


@dataclass(frozen=True, eq=False)
class RotatedThing:
    """The scanner's millimetres in the axes of a thing: `axes` (3, 3) @ point; a
    `PointMapping` for `rasterise`."""

    axes: NDArray[np.float64]

    def to_anatomy(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats, Floats]:
        """The x, y and z in the thing of those points, each array of the whole grid's shape."""
        grid_shape = np.broadcast_shapes(x.shape, y.shape, z.shape)
        thing_x, thing_y, thing_z = (
            np.broadcast_to(x_share * x + y_share * y + z_share * z, grid_shape).copy()
            for x_share, y_share, z_share in self.axes.astype(np.float32)
        )
        return thing_x, thing_y, thing_z

    def enclose(self, boxes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Boxes of the scanner around boxes (n, 2, 3) of the thing."""
        boxes = boxes.clip(-FAR_MM, FAR_MM)
        centres = boxes.mean(axis=1) @ self.axes
        half_sizes = (boxes[:, 1] - boxes[:, 0]) / 2 @ np.abs(self.axes)
        return np.stack([centres - half_sizes, centres + half_sizes], axis=1)


def make_thing_volume(kind: str, plane: str, rng: np.random.Generator) -> Volume:
    """A volume of a thing of that kind, one of TRAINING or HELD_OUT, cut in that plane; axes RAS+.

    The same generator gives the same volume.
    """
    draw_thing = {**TRAINING, **HELD_OUT}[kind]
    thing = draw_thing(rng)
    rotation = _draw_rotation(rng)
    grid = _draw_grid(thing, rotation, plane, rng)
    labels_per_voxel = LABELS_PER_VOXEL[plane]
    label_grid = grid.split_voxels(labels_per_voxel)
    labels = rasterise(thing.pieces, label_grid, RotatedThing(rotation))
    acquisition = replace(_draw_acquisition(grid, plane, rng), labels_per_voxel=labels_per_voxel)
    processing = Processing()
    if rng.random() >= CAREFUL_SHARE:
        processing = draw_processing(grid.shape, rng)
    sequence, contrast = _draw_visible_sequence(thing.tissues, labels, rng)
    acquisition = replace(acquisition, free_contrast=contrast)
    label_volume = LabelVolume(labels, label_grid.vox_to_ras)
    volume = scan(label_volume, sequence, acquisition, rng, thing.tissues, kind)
    is_solid = find_visible_tissues(thing.tissues)[labels]
    is_visible = None
    if processing.mask_kind == BACKGROUND and is_solid.any():
        is_visible = is_solid
    return apply_processing(volume, is_visible, labels_per_voxel, processing)


def _draw_visible_sequence(
    tissues: tuple[Tissue, ...], labels: NDArray[np.uint8], rng: np.random.Generator
) -> tuple[PulseSequence, FreeContrast | None]:
    """A sequence, and in most a departure from its contrast, otherwise None; in nearly all, the
    thing is seen in it.

    Water is black in an image of fat, and oil where fat is suppressed: others are drawn then, a few
    times.
    """
    shown_labels = np.unique(labels[labels > 0])
    for _ in range(SEQUENCE_TRIES):
        sequence, contrast = draw_contrast(SEQUENCES[rng.integers(len(SEQUENCES))], rng)
        if not shown_labels.size:
            continue
        if float(np.max(compute_signals(tissues, sequence, 1.5)[shown_labels])) > FAINT_SIGNAL:
            break
    if rng.random() < CAREFUL_SHARE:
        contrast = None
    return sequence, contrast


def _draw_rotation(rng: np.random.Generator) -> NDArray[np.float64]:
    """(3, 3) from the scanner's axes to the thing's: upright, lying, or at any angle."""
    posture_dice = rng.random()
    if posture_dice < UPRIGHT_SHARE:
        return np.eye(3)
    if posture_dice < UPRIGHT_SHARE + LYING_SHARE:
        return np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    angles_deg = _draw_angles_deg(rng)
    return np.asarray(Rotation.from_euler("xyz", angles_deg, degrees=True).as_matrix())


def _draw_angles_deg(rng: np.random.Generator) -> NDArray[np.float64]:
    """(3,) angles about the axes: in half of the cases small ones."""
    if rng.random() < 0.5:
        return rng.normal(0, 6, 3)
    return rng.uniform(-180, 180, 3)


def _draw_grid(
    thing: Thing, rotation: NDArray[np.float64], plane: str, rng: np.random.Generator
) -> Grid:
    """The grid of the voxels: a field about the thing, not quite in its middle, cut off or with
    much air around."""
    low_corner, high_corner = thing.box_mm
    corners = np.stack(
        np.meshgrid(*zip(low_corner, high_corner, strict=True), indexing="ij"), axis=-1
    ).reshape(-1, 3)
    scanner_corners = corners @ rotation  # the inverse of a rotation is its transpose
    size_mm = np.ptp(scanner_corners, axis=0)
    centre_mm = (scanner_corners.min(axis=0) + scanner_corners.max(axis=0)) / 2
    field_factor = log_uniform(*FIELD_FACTOR_RANGE, rng)
    axis_factors = np.exp(rng.uniform(-0.2, 0.2, 3))
    field_mm = np.clip(size_mm * field_factor * axis_factors, LEAST_FIELD_MM, MOST_FIELD_MM)
    slice_axis = SLICE_AXIS_BY_PLANE.get(plane)
    spacing_mm = _draw_spacing(field_mm, slice_axis, rng)
    shape = np.maximum(np.rint(field_mm / spacing_mm).astype(int), 16)
    if slice_axis is not None:
        shape[slice_axis] = int(np.clip(shape[slice_axis], *SLICE_COUNT_RANGE))
        plane_axes = [axis for axis in range(3) if axis != slice_axis]
        if rng.random() < 0.5:  # a square image
            shape[plane_axes] = shape[plane_axes].max()
    affine = np.diag([*spacing_mm, 1.0])
    field_centre_mm = centre_mm + rng.uniform(-0.12, 0.12, 3) * field_mm
    affine[:3, 3] = field_centre_mm - spacing_mm * (shape - 1) / 2
    size_i, size_j, size_k = shape.tolist()
    return Grid((size_i, size_j, size_k), affine)


def _draw_spacing(
    field_mm: NDArray[np.float64], slice_axis: int | None, rng: np.random.Generator
) -> NDArray[np.float64]:
    """(3,) mm between voxels of a field of that size (3,): pixels and thicker slices, or coarser
    cubes without a `slice_axis`."""
    pixel_mm = float(field_mm.max()) / int(rng.integers(*PIXEL_COUNT_RANGE))
    if slice_axis is None:
        return np.full(3, max(1.5 * pixel_mm, 1.2))
    spacing_mm = np.full(3, max(pixel_mm, 0.7))
    least_step_mm, _ = SLICE_STEP_RANGE_MM
    most_step_mm = float(field_mm[slice_axis]) / SLICE_COUNT_RANGE[0]
    slice_step_mm = log_uniform(*SLICE_STEP_RANGE_MM, rng)
    spacing_mm[slice_axis] = min(slice_step_mm, max(most_step_mm, least_step_mm))
    return spacing_mm


def _draw_acquisition(grid: Grid, plane: str, rng: np.random.Generator) -> Acquisition:
    """Coil, flaws and noise: even and clean in one volume of three."""
    field_strength_tesla = float(rng.choice([1.5, 3.0]))
    snr = log_uniform(6, 120, rng)
    if rng.random() < CAREFUL_SHARE:
        return Acquisition(field_strength_tesla, snr=max(snr, 20.0))
    coil = draw_surface_coil(Coil(), grid, np.zeros(3), rng)
    if rng.random() < 0.3:  # dielectric standing waves and what is not corrected
        coil = replace(coil, bias_spread=rng.uniform(0.1, 0.5))
    flaws = draw_flaws(plane, rng)
    return Acquisition(
        field_strength_tesla, snr=snr, coil=coil, flaws=flaws, blur_voxels=rng.uniform(0.3, 0.8)
    )
