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
from fovnet.phantom.finish.masks import BACKGROUND, Finish, apply_finish, draw_finish
from fovnet.phantom.geometry.raster import Grid, rasterise
from fovnet.phantom.geometry.solids import FAR, Floats
from fovnet.phantom.scanner.artefacts import ACROSS, draw_flaws
from fovnet.phantom.scanner.contrasts import FreeContrast, draw_contrast
from fovnet.phantom.scanner.scan import Acquisition, Coil, LabelVolume, scan
from fovnet.phantom.scanner.sequence import Sequence, signals
from fovnet.phantom.scanner.tissues import Tissue, visible_tissues
from fovnet.volume.volume import Volume

FOLDS = {"axial": (1, 1, 2), "coronal": (1, 2, 1), "sagittal": (2, 1, 1), "isotropic": (1, 1, 1)}
"""Label voxels along each axis that make one voxel: thick slices are means of two."""
PLANES = tuple(FOLDS)
CAREFUL_SHARE = 0.3  # without flaws, in an even coil, with the contrast of physics
STANDING = 0.5  # share of things upright
LYING = 0.2  # share of things along the left-right axis
MATRIX = (80, 176)  # voxels across a slice
SLICES = (8, 56)
AROUND = (0.65, 2.4)  # field of view over the size of what is in it: cut off, or small within
LEAST_MM = 60.0  # of a field of view
MOST_MM = 480.0
TRIED = 8  # sequences drawn at most
FAINT = 0.004  # signal of what is hardly seen
STEP_MM = (1.5, 9.0)  # between slices


@dataclass(frozen=True, eq=False)
class Turned:
    """The scanner's millimetres in the axes of a thing: `axes` (3, 3) @ point; a `Shape` for
    `rasterise`."""

    axes: NDArray[np.float64]

    def to_anatomy(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats, Floats]:
        """The points of the thing there, each array of the whole grid's shape."""
        shape = np.broadcast_shapes(x.shape, y.shape, z.shape)
        a, b, c = (
            np.broadcast_to(p * x + q * y + r * z, shape).copy()
            for p, q, r in self.axes.astype(np.float32)
        )
        return a, b, c

    def enclose(self, boxes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Boxes of the scanner around boxes (n, 2, 3) of the thing."""
        boxes = boxes.clip(-FAR, FAR)
        middle = boxes.mean(axis=1) @ self.axes
        half = (boxes[:, 1] - boxes[:, 0]) / 2 @ np.abs(self.axes)
        return np.stack([middle - half, middle + half], axis=1)


def thing_volume(kind: str, plane: str, rng: np.random.Generator) -> Volume:
    """A volume of a thing of that kind, one of TRAINING or HELD_OUT, cut in that plane; axes RAS+.

    The same generator gives the same volume.
    """
    thing = {**TRAINING, **HELD_OUT}[kind](rng)
    turn = _turn(rng)
    grid = _field(thing, turn, plane, rng)
    fold = FOLDS[plane]
    fine = grid.finer(fold)
    labels = rasterise(thing.pieces, fine, Turned(turn))
    body = LabelVolume(labels, fine.vox_to_ras)
    acquired = replace(_acquisition(grid, plane, rng), average=fold)
    finish = Finish() if rng.random() < CAREFUL_SHARE else draw_finish(False, grid.shape, rng)
    sequence, contrast = _sequence(thing.tissues, labels, rng)
    acquired = replace(acquired, contrast=contrast)
    volume = scan(body, sequence, acquired, rng, thing.tissues, kind)
    solid = visible_tissues(thing.tissues)[labels]
    hides = solid if finish.hides == BACKGROUND and solid.any() else None
    return apply_finish(volume, hides, fold, finish)


def _sequence(
    tissues: tuple[Tissue, ...], labels: NDArray[np.uint8], rng: np.random.Generator
) -> tuple[Sequence, FreeContrast | None]:
    """A sequence, and a departure from its contrast in most; in nearly all, the thing is seen in
    it.

    Water is black in an image of fat, and oil where fat is suppressed: others are drawn then, a few
    times.
    """
    labels_there = np.unique(labels[labels > 0])
    for _ in range(TRIED):
        sequence, contrast = draw_contrast(SEQUENCES[rng.integers(len(SEQUENCES))], rng)
        if (
            labels_there.size
            and float(np.max(signals(tissues, sequence, 1.5)[labels_there])) > FAINT
        ):
            break
    return sequence, None if rng.random() < CAREFUL_SHARE else contrast


def _turn(rng: np.random.Generator) -> NDArray[np.float64]:
    """(3, 3) from the scanner's axes to the thing's: upright, lying, or at any angle."""
    dice = rng.random()
    if dice < STANDING:
        return np.eye(3)
    if dice < STANDING + LYING:
        return np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    tilted = rng.random() < 0.5
    angles = rng.normal(0, 6, 3) if tilted else rng.uniform(-180, 180, 3)
    return np.asarray(Rotation.from_euler("xyz", angles, degrees=True).as_matrix())


def _field(thing: Thing, turn: NDArray[np.float64], plane: str, rng: np.random.Generator) -> Grid:
    """The voxels: a field about the thing, not quite in its middle, cut off or with much air
    around."""
    low, high = thing.box_mm
    corners = np.stack(np.meshgrid(*zip(low, high, strict=True), indexing="ij"), axis=-1).reshape(
        -1, 3
    )
    placed = corners @ turn  # the inverse of a rotation is its transpose
    size = np.ptp(placed, axis=0)
    middle = (placed.min(axis=0) + placed.max(axis=0)) / 2
    across = log_uniform(*AROUND, rng)
    fields = np.clip(size * across * np.exp(rng.uniform(-0.2, 0.2, 3)), LEAST_MM, MOST_MM)
    through = ACROSS.get(plane)
    matrix = int(rng.integers(*MATRIX))
    pixel = float(fields.max()) / matrix
    spacing = np.full(3, max(pixel, 0.7) if through is not None else max(1.5 * pixel, 1.2))
    if through is not None:
        most = float(fields[through]) / SLICES[0]
        spacing[through] = min(log_uniform(*STEP_MM, rng), max(most, STEP_MM[0]))
    shape = np.maximum(np.rint(fields / spacing).astype(int), 16)
    if through is not None:
        shape[through] = int(np.clip(shape[through], *SLICES))
        in_plane = [axis for axis in range(3) if axis != through]
        shape[in_plane] = shape[in_plane].max() if rng.random() < 0.5 else shape[in_plane]
    affine = np.diag([*spacing, 1.0])
    offset = middle + rng.uniform(-0.12, 0.12, 3) * fields
    affine[:3, 3] = offset - spacing * (shape - 1) / 2
    i, j, k = shape.tolist()
    return Grid((i, j, k), affine)


def _acquisition(grid: Grid, plane: str, rng: np.random.Generator) -> Acquisition:
    """Coil, flaws and noise: even and clean in one volume of three."""
    field = float(rng.choice([1.5, 3.0]))
    snr = log_uniform(6, 120, rng)
    if rng.random() < CAREFUL_SHARE:
        return Acquisition(field, snr=max(snr, 20.0))
    coil = draw_surface_coil(Coil(), grid, np.zeros(3), rng)
    if rng.random() < 0.3:  # dielectric standing waves and what is not corrected
        coil = replace(coil, bias=rng.uniform(0.1, 0.5))
    flaws = draw_flaws(plane, rng)
    return Acquisition(field, snr=snr, coil=coil, flaws=flaws, blur=rng.uniform(0.3, 0.8))
