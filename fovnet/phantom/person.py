"""One simulated person: what varies between people, and how the written anatomy becomes theirs.

The anatomy is written once, for a person of 1750 mm, z = 0 at the soles. A person is a `Morph` (heights stretched piece by
piece, widths scaled, the head turned, everything gently bent sideways) and a set of traits the anatomy is built with.
The bend moves points within a horizontal plane only, so a landmark stays exactly at its height.

Source of the proportions: Drillis & Contini (1966), *Body Segment Parameters*, as in Winter (2009), figure 4.1; statures of
adults as in NCD-RisC (2016), eLife 5:e13410 (men 176 ± 7 cm, women 163 ± 6.5 cm, a mixed northern and western average).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

from fovnet.phantom.solids import Floats

STATURE_MM = 1750.0
"""Height of the person the anatomy is written for."""

ANCHORS_MM = (-300.0, 0.0, 80.0, 480.0, 830.0, 1060.0, 1270.0, 1455.0, 1520.0, 1750.0, 2300.0)
"""Heights in the written anatomy between which a person is stretched: below the soles, soles, ankle, knee, ischium,
iliac crest, liver dome, lung apex, chin, vertex, beyond raised hands."""

RISE_MM = (1470.0, 1540.0)  # the trunk's widths and direction give way to the head's along the neck
NECK_Y_MM = -20.0  # the head turns about the dens
LATTICE_MM = 8.0  # how finely the bend is worked out on a grid: the shortest wave, 34 mm, is then within 0.2 mm between the knots
WAVES_MM = ((620, 3.0), (480, 2.5), (340, 2.0), (230, 1.4), (150, 0.8), (95, 0.5))  # wavelength, largest amplitude along an axis
DEFORMATION_MM = ((150, 3.5), (95, 2.5), (62, 1.6), (42, 1.0))  # gentle enough together with WAVES_MM never to fold the body over


@dataclass(frozen=True)
class Morph:
    """From the person's millimetres to the written anatomy's, and back.

    heights_mm  (11,) the person's heights of ANCHORS_MM            trunk, head   (2,) widths relative to the anatomy, x and y
    yaw_deg     how far the head is turned to the left              waves  (n, 8) amplitudes x, y; wave numbers, phases x, y, z
    """

    heights_mm: tuple[float, ...]
    trunk: tuple[float, float]
    head: tuple[float, float]
    yaw_deg: float
    waves: tuple[tuple[float, ...], ...]

    @cached_property
    def _down(self) -> PchipInterpolator:
        return PchipInterpolator(self.heights_mm, ANCHORS_MM)

    @cached_property
    def _table(self) -> NDArray[np.float64]:
        """(2, n) heights of the person every 0.25 mm, and of the anatomy."""
        z = np.arange(self.heights_mm[0], self.heights_mm[-1], 0.25)
        return np.stack([z, self._down(z)])

    def height_mm(self, anatomy_z_mm: float) -> float:
        """The person's height of a height in the written anatomy."""
        return float(np.interp(anatomy_z_mm, self._table[1], self._table[0]))

    def to_anatomy(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats, Floats]:
        """Points (mm) of the written anatomy that are at x, y, z (mm) of this person; float32, broadcastable."""
        up = np.interp(z, *self._table).astype(np.float32)
        rise = np.clip((up - RISE_MM[0]) / (RISE_MM[1] - RISE_MM[0]), 0, 1).astype(np.float32)
        rise = rise * rise * (3 - 2 * rise)  # 0 in the trunk, 1 in the head
        wide, deep = (np.float32(low) + rise * np.float32(high - low) for low, high in zip(self.trunk, self.head, strict=True))
        x, y = x / wide, y / deep
        bend_x, bend_y = self._bend_on_lattice(x, y, up)
        if self.yaw_deg and float(rise.max()) > 0:
            turn = np.deg2rad(self.yaw_deg).astype(np.float32) * rise
            cos, sin = np.cos(turn), np.sin(turn)
            behind = y - NECK_Y_MM
            x, y = cos * x + sin * behind, cos * behind - sin * x + NECK_Y_MM
        return np.asarray(x + bend_x), np.asarray(y + bend_y), up

    def _bend_on_lattice(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats]:
        """The bend at points on a grid, linear between knots LATTICE_MM apart; of fewer than a thousand points, at every one.

        Ten waves over three million oblique points would take a second; the knots are a hundredth of them.
        """
        shape = np.broadcast_shapes(x.shape, y.shape, z.shape)
        if len(shape) != 3 or np.prod(shape) < 1000:
            return self._bend(x, y, z)
        knots = [_knots(size, step) for size, step in zip(shape, _steps_mm(x, y, z), strict=True)]
        at_knots = (values[np.ix_(*(k if n > 1 else [0] for k, n in zip(knots, values.shape, strict=True)))] for values in (x, y, z))
        bend_x, bend_y = self._bend(*at_knots)
        return _between_knots(bend_x, knots, shape), _between_knots(bend_y, knots, shape)

    @cached_property
    def bend_mm(self) -> float:
        """More than the waves can ever move a point along x or y."""
        return float(np.abs(np.array([wave[:2] for wave in self.waves])).sum(axis=0).max()) + 0.5 if self.waves else 0.5

    def _bend(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats]:
        """Displacements in mm along x and y, a sum of standing waves.

        The sines are taken before the axes are mixed: on a grid along the body that is a hundredth of the work.
        """
        bend_x, bend_y = np.float32(0), np.float32(0)
        for in_x, in_y, kx, ky, kz, px, py, pz in self.waves:
            across = np.sin(np.float32(kx) * x + np.float32(px)) * np.sin(np.float32(kz) * z + np.float32(pz))
            deep = np.sin(np.float32(ky) * y + np.float32(py))
            wave = across * deep
            bend_x, bend_y = bend_x + np.float32(in_x) * wave, bend_y + np.float32(in_y) * wave
        return np.asarray(bend_x), np.asarray(bend_y)

    def enclose(self, boxes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Boxes (n, 2, 3) of this person around boxes (n, 2, 3) of the anatomy."""
        low, high = boxes[:, 0].copy(), boxes[:, 1].copy()
        reach = abs(np.deg2rad(self.yaw_deg)) * (np.abs(boxes[:, :, :2].clip(-600, 600)).max(axis=(1, 2)) + abs(NECK_Y_MM))
        reach = np.where(high[:, 2] > RISE_MM[0], reach, 0.0) + self.bend_mm  # a turned head: any way the yaw can reach
        for axis in range(2):
            near, far = low[:, axis] - reach, high[:, axis] + reach
            ends = np.stack([near * self.trunk[axis], near * self.head[axis], far * self.trunk[axis], far * self.head[axis]])
            low[:, axis], high[:, axis] = ends.min(axis=0), ends.max(axis=0)
        low[:, 2] = np.interp(low[:, 2], self._table[1], self._table[0]) - 0.5
        high[:, 2] = np.interp(high[:, 2], self._table[1], self._table[0]) + 0.5
        return np.stack([low, high], axis=1)


def _steps_mm(x: Floats, y: Floats, z: Floats) -> list[float]:
    """(3,) mm between neighbouring points of a grid along each of its axes."""
    steps = []
    for axis in range(3):
        both = [np.diff(values.take([0, 1], axis), axis=axis).ravel()[0] if values.shape[axis] > 1 else 0.0 for values in (x, y, z)]
        steps.append(float(np.linalg.norm(both)))
    return steps


def _knots(size: int, step_mm: float) -> NDArray[np.intp]:
    """Indices along an axis, about LATTICE_MM apart, the first and the last among them."""
    every = max(1, int(LATTICE_MM / max(step_mm, 1e-3)))
    return np.append(np.arange(0, size - 1, every), size - 1)


def _between_knots(values: Floats, knots: list[NDArray[np.intp]], shape: tuple[int, ...]) -> Floats:
    """Values (a, b, c) at the knots of three axes, linearly interpolated to every index of `shape`."""
    i, j, k = (
        np.stack([np.interp(np.arange(size), at, row) for row in np.eye(len(at))], axis=1).astype(np.float32)  # (size, knots)
        for size, at in zip(shape, knots, strict=True)
    )
    known = np.broadcast_to(values, (i.shape[1], j.shape[1], k.shape[1])).astype(np.float32)
    along_i = (i @ known.reshape(i.shape[1], -1)).reshape(len(i), j.shape[1], k.shape[1])
    return np.asarray((j @ along_i) @ k.T)          # contiguous, which everything painted on the grid gains from


@dataclass(frozen=True)
class Person:
    """A simulated person; every length in mm of the written anatomy unless said otherwise.

    sex        "female" or "male"                      fat_mm      subcutaneous fat at the waist
    seed       two numbers that fix every detail       belly_mm    how far the abdomen stands out
    morph      written anatomy to person               brawn       muscle relative to the average, about 0.85 to 1.15
    arms       "beside", "raised" or "folded"          breath_mm   how far the diaphragm is below its written height
    age        in years                                spread_mm   how far each leg is turned outwards at the ankle
    prone      whether she lies on her front and the breasts hang
    marbling   share of muscle that is streaked with fat, 0 to about 0.3
    missing    what the person lacks or has instead, names of MISSING
    """

    sex: str
    seed: tuple[int, int]
    morph: Morph
    arms: str
    age: float
    fat_mm: float
    belly_mm: float
    brawn: float
    breath_mm: float
    spread_mm: float
    prone: bool = False
    marbling: float = 0.05
    missing: frozenset[str] = frozenset()

    @property
    def female(self) -> bool:
        """Whether the anatomy is a woman's."""
        return self.sex == "female"

    def generator(self, place: int) -> np.random.Generator:
        """The generator of the details of one place in the body, the same at every call."""
        return np.random.default_rng([*self.seed, place])


MISSING = {
    "right kidney": 0.015, "left kidney": 0.015, "uterus": 0.15, "prostate": 0.06, "gall bladder": 0.12, "spleen": 0.02,
    "right hip": 0.05, "left hip": 0.05, "natural breasts": 0.07, "bowel gas": 0.3,
}  # fmt: skip
"""How often it is so that a person lacks it; for a hip, that it is of metal, and for the breasts, that there are implants in them.

Rounded from national registries of adults past sixty (hips, uterus, gall bladder) and taken higher where that is rare but changes much.
"""


def sample_person(seed: tuple[int, int], without: frozenset[str] = frozenset()) -> Person:
    """The person of a seed (collection seed, subject number): the same person in a collection of any size.

    `without` names features of `features.ANATOMY` to leave out; what else the person is stays as it was.
    """
    rng = np.random.default_rng(seed)
    female = bool(rng.random() < 0.5)
    stature = float(np.clip(rng.normal(1630, 65) if female else rng.normal(1760, 70), 1470, 1970))
    fat = float(np.clip(rng.lognormal(np.log(15 if female else 11), 0.5), 4, 42))
    belly = float(np.clip(0.7 * (fat - 10) + rng.normal(3 if female else 9, 7), -8, 45))
    arms = str(rng.choice(["beside", "raised", "folded"], p=[0.68, 0.2, 0.12]))
    plain = Person(
        sex="female" if female else "male",
        seed=seed,
        morph=_sample_morph(rng, female, stature),
        arms=arms,
        age=float(rng.uniform(18, 85)),
        fat_mm=fat,
        belly_mm=belly,
        brawn=float(np.clip(rng.normal(0.94 if female else 1.02, 0.05), 0.82, 1.15)),
        breath_mm=float(rng.uniform(-10, 18)),
        spread_mm=float(rng.uniform(-6, 28)),
    )
    varied = plain if "varied bodies" in without else _varied(plain, np.random.default_rng([*seed, 91]))
    return varied if "deformation" in without else _deformed(varied, np.random.default_rng([*seed, 92]))


def _varied(person: Person, rng: np.random.Generator) -> Person:
    """The person with what is uncommon: a child (1 in 20), very fat, wasted or marbled muscle, lying prone, parts missing or replaced."""
    kind, size, missing = rng.random(), rng.uniform(size=2), {name for name, share in MISSING.items() if rng.random() < share}
    marbling = float(np.clip(0.04 + 0.0025 * max(person.age - 40, 0) * rng.uniform(0.2, 1.6) + 0.002 * (person.fat_mm - 12), 0.02, 0.3))
    if kind < 0.05:
        morph = _sample_morph(rng, person.female, 1150 + 330 * float(size[0]))
        age = 6 + 8 * float(size[0])
        return replace(person, morph=morph, age=age, fat_mm=5 + 9 * float(size[1]), belly_mm=0.0, brawn=0.85, marbling=0.02)
    if kind < 0.13:
        fat, belly = 30 + 26 * float(size[0]), 20 + 45 * float(size[1])
        person = replace(person, fat_mm=fat, belly_mm=belly, spread_mm=max(person.spread_mm, 8.0))
    elif kind < 0.21:
        person = replace(person, brawn=0.68 + 0.12 * float(size[0]), fat_mm=person.fat_mm * (0.5 + 0.8 * float(size[1])))
    elif kind < 0.29:
        person = replace(person, belly_mm=25 + 25 * float(size[0]), fat_mm=7 + 8 * float(size[1]))        # fat inside, not under the skin
    prone = person.female and bool(rng.random() < 0.2)
    arms = "raised" if prone and person.arms == "folded" else person.arms
    return replace(person, marbling=marbling, missing=frozenset(missing), prone=prone, arms=arms)


def _deformed(person: Person, rng: np.random.Generator) -> Person:
    """The person with the waves of DEFORMATION_MM added, three of each length; they move nothing up or down."""
    grown = person.morph.trunk[0] ** 0.5
    waves = [_wave(rng, wavelength, grown * size / np.sqrt(3)) for wavelength, size in DEFORMATION_MM for _ in range(3)]
    return replace(person, morph=replace(person.morph, waves=(*person.morph.waves, *waves)))


def _sample_morph(rng: np.random.Generator, female: bool, stature_mm: float) -> Morph:
    """Proportions of a person of that stature: each piece between anchors varies by 3 %, and heads vary less than bodies do."""
    pieces = np.diff(ANCHORS_MM)
    grown = stature_mm / STATURE_MM
    stretch = grown * rng.normal(1.0, 0.03, len(pieces))
    stretch[8] = grown**0.35 * rng.normal(1.0, 0.025)  # chin to vertex
    body = stretch[1:9] * pieces[1:9]
    body[:7] *= (stature_mm - body[7]) / body[:7].sum()
    lengths = np.concatenate([[pieces[0]], body, [pieces[9] * grown]])
    heights = np.concatenate([[0.0], np.cumsum(lengths)]) - pieces[0]
    width = grown**0.8 * rng.normal(0.97 if female else 1.0, 0.03)
    skull = grown**0.3 * rng.normal(0.98 if female else 1.0, 0.025)
    waves = [_wave(rng, wavelength, size) for wavelength, size in WAVES_MM]
    return Morph(
        heights_mm=tuple(heights.tolist()),
        trunk=(float(width), float(width * rng.normal(1.0, 0.03))),
        head=(float(skull), float(skull * rng.normal(1.0, 0.03))),
        yaw_deg=float(np.clip(rng.normal(0, 6), -18, 18)),
        waves=tuple(waves),
    )


def _wave(rng: np.random.Generator, wavelength_mm: float, size_mm: float) -> tuple[float, ...]:
    """A standing wave of displacement: amplitudes x, y in mm, wave numbers x, y, z in 1 / mm, phases."""
    amplitude = rng.uniform(-size_mm, size_mm, 2)
    k = 2 * np.pi / (wavelength_mm * rng.uniform(0.8, 1.25, 3))
    return (*amplitude.tolist(), *k.tolist(), *rng.uniform(0, 2 * np.pi, 3).tolist())
