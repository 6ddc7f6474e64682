"""Breast findings: irregular masses with spicules, cysts, segmental enhancement, marker clips.

Source of their appearance: Morris et al. (2013), *ACR BI-RADS Magnetic Resonance Imaging*: irregular or lobed
masses with spiculated margins, focal or segmental non-mass enhancement.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.anatomy.gland import Wave, wave_of, waves_of
from fovnet.phantom.anatomy.layers import Paints, detail, details
from fovnet.phantom.geometry.lobed import lobed
from fovnet.phantom.geometry.solids import Bools, Ellipsoid, Filling, Floats, Point, tube
from fovnet.phantom.person.breast_shapes import Shaped, shaped
from fovnet.phantom.person.traits import Person

HANGING_SHARES = {"mass": 0.5, "cysts": 0.2, "segment": 0.15, "clip": 0.15}
LYING_SHARES = {"mass": 0.08, "cysts": 0.1, "segment": 0.02, "clip": 0.03}
"""Shares of women with breasts `of_a_kind` who have it: most who lie prone in a breast coil have an
indication."""

WITHIN = ("fat", "gland")


@dataclass(frozen=True)
class Segment(Filling):
    """Clumps in one segment of a breast, which widens from the nipple to the chest.

    turn   direction round the axis, rad                open   half its angular width, rad
    waves  their sum above `least` makes the clumps     least  threshold: the higher, the fewer clumps
    """

    region: Shaped
    turn: float
    open: float
    waves: tuple[Wave, ...]
    least: float

    @property
    def box(self) -> NDArray[np.float64]:
        low, high = self.region.box
        return np.array([(low[0], self.region.base[1] + 10.0, low[2]), high])

    def inside(self, x: Floats, y: Floats, z: Floats) -> Bools:
        u, t, w = self.region.within(x, y, z)
        clumps = sum(wave_of(x, y, z, wave) for wave in self.waves)
        off = np.angle(np.exp(1j * (np.arctan2(w, u) - self.turn))).astype(np.float32)
        part = (np.abs(off) < self.open) & (self.region.level(u, t, w) < 0.7) & (t > 0.15)
        return np.asarray((clumps > self.least) & part)


def findings(person: Person) -> Paints:
    """The findings of a woman with breasts `of_a_kind`, each in one breast; none before 25 years."""
    rng = person.generator(7340)
    if person.age < 25:
        return
    made = {"mass": _masses, "cysts": _cysts, "segment": _segment, "clip": _clips}
    for name, share in (HANGING_SHARES if person.prone else LYING_SHARES).items():
        whole, has = shaped(person, int(rng.choice([-1, 1]))), rng.random() < share
        own = np.random.default_rng(rng.integers(2**31))
        if has:
            yield from made[name](whole, own)


def _place(whole: Shaped, room_mm: float, rng: np.random.Generator) -> Point:
    """A point of the breast at least that far from its skin, if there is room."""
    t = rng.uniform(0.15, 0.8)
    u, w = (
        rng.uniform(-0.75, 0.75) * max(half * min(whole.radius(t), plate) - room_mm, 0.0) / half
        for half, plate in zip(whole.half, whole.plates, strict=True)
    )
    return whole.within_mm(t, u, w)


def _masses(whole: Shaped, rng: np.random.Generator) -> Paints:
    """One mass of 1 to 6 cm, at times necrotic, seldom with one or two smaller ones beside it; up to fourteen
    spicules each."""
    wide, tall = (
        half * min(1.0, plate) for half, plate in zip(whole.half, whole.plates, strict=True)
    )
    room = 0.9 * min(wide, tall, whole.length / 2)
    half = min(float(np.exp(rng.uniform(np.log(5.0), np.log(30.0)))), room)
    for number in range(1 + rng.choice(3, p=[0.7, 0.2, 0.1])):
        size = half if number == 0 else half * rng.uniform(0.25, 0.6)
        middle = _place(whole, 0.6 * size, rng)
        semi = tuple((size * np.exp(rng.normal(0, 0.2, 3))).tolist())
        ball = Ellipsoid(middle, semi, tuple(rng.uniform(-40, 40, 3).tolist()))
        yield detail(lobed(ball, rng), "tumour", WITHIN)
        for ray in rng.normal(0, 1, (rng.integers(0, 15), 3)):
            way = ray / np.linalg.norm(ray)
            end = middle + size * rng.uniform(1.3, 2.4) * way
            bend = middle + 0.9 * size * way + rng.normal(0, 0.15 * size, 3)
            spicule = tube([middle, bend, end], [0.2 * size + 1.0, 0.1 * size + 0.8, 0.6])
            yield detail(spicule, "tumour", WITHIN)
        if size > 9 and rng.random() < 0.3:
            necrosis = lobed(ball.shrunk(0.35 * size), rng)
            yield detail(necrosis, "fluid of a lesion", "tumour")


def _cysts(whole: Shaped, rng: np.random.Generator) -> Paints:
    """One to eight round cysts of 4 to 30 mm."""
    for _ in range(rng.integers(1, 9)):
        half = float(np.exp(rng.uniform(np.log(2.0), np.log(15.0))))
        semi = tuple((half * np.exp(rng.normal(0, 0.1, 3))).tolist())
        yield detail(Ellipsoid(_place(whole, half, rng), semi), "fluid of a lesion", WITHIN)


def _segment(whole: Shaped, rng: np.random.Generator) -> Paints:
    """Enhancing clumps of 5 to 15 mm in a segment."""
    turn, wide, clump, least = rng.uniform((0.0, 0.25, 5.0, -0.3), (6.3, 0.9, 15.0, 1.8)).tolist()
    clumps = Segment(whole, turn, wide, waves_of(rng, 7, 2 * clump), least)
    yield detail(clumps, "tumour", WITHIN)


def _clips(whole: Shaped, rng: np.random.Generator) -> Paints:
    """One or two clips, with signal voids of 5 to 12 mm."""
    sizes = rng.uniform(2.5, 6.0, rng.integers(1, 3)).tolist()
    balls = (Ellipsoid(_place(whole, 5.0, rng), (half, half, half)) for half in sizes)
    yield from details(balls, "metal", (*WITHIN, "tumour"))
