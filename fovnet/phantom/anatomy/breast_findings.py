"""Breast findings: irregular masses with spicules, cysts, segmental enhancement, marker clips.

Source of their appearance: Morris et al. (2013), *ACR BI-RADS Magnetic Resonance Imaging*: irregular or lobed
masses with spiculated margins, focal or segmental non-mass enhancement.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.anatomy.gland import InBreast, Wave, wave_of, waves_of
from fovnet.phantom.anatomy.layers import Layer, paint
from fovnet.phantom.geometry.lobed import lobed
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Bools, Ellipsoid, Floats, tube
from fovnet.phantom.person.breast_shapes import Shaped, shaped
from fovnet.phantom.person.traits import Person

HANGING_SHARES = {"mass": 0.5, "cysts": 0.2, "segment": 0.15, "clip": 0.15}
LYING_SHARES = {"mass": 0.08, "cysts": 0.1, "segment": 0.02, "clip": 0.03}
"""Shares of women with breasts `of_a_kind` who have it: most who lie prone in a breast coil have an
indication."""

WITHIN = ("fat", "gland")


@dataclass(frozen=True)
class Segment(InBreast):
    """Clumps in one segment of a breast, which widens from the nipple to the chest.

    turn   direction round the axis, rad                open   half its angular width, rad
    waves  their sum above `least` makes the clumps     least  threshold: the higher, the fewer clumps
    """

    turn: float
    open: float
    waves: tuple[Wave, ...]
    least: float

    @property
    def box(self) -> NDArray[np.float64]:
        low, high = self.breast.box
        return np.array([(low[0], self.breast.base[1] + 10.0, low[2]), high])

    def inside(self, x: Floats, y: Floats, z: Floats) -> Bools:
        u, t, w = self.breast.within(x, y, z)
        clumps = sum(wave_of(x, y, z, wave) for wave in self.waves)
        off = np.angle(np.exp(1j * (np.arctan2(w, u) - self.turn))).astype(np.float32)
        part = (np.abs(off) < self.open) & (self.breast.level(u, t, w) < 0.7) & (t > 0.15)
        return np.asarray((clumps > self.least) & part)


def findings(person: Person) -> list[Paint]:
    """The findings of a woman with breasts `of_a_kind`, each in one breast; none before 25 years."""
    rng = person.generator(7340)
    if person.age < 25:
        return []
    shares, made = HANGING_SHARES if person.prone else LYING_SHARES, []
    for name, share in shares.items():
        whole, has = shaped(person, int(rng.choice([-1, 1]))), rng.random() < share
        own = np.random.default_rng(rng.integers(2**31))
        if has:
            made += (
                _masses(whole, own)
                if name == "mass"
                else _cysts(whole, own)
                if name == "cysts"
                else _rest(name, whole, own)
            )
    return made


def _place(whole: Shaped, room_mm: float, rng: np.random.Generator) -> tuple[float, float, float]:
    """A point of the breast at least that far from its skin, if there is room."""
    t = float(rng.uniform(0.15, 0.8))
    r = float(whole.squared[int(t * (len(whole.squared) - 1))]) ** 0.5
    flat = [half * min(r, plate) for half, plate in zip(whole.half, whole.plates, strict=True)]
    u, w = (
        rng.uniform(-0.75, 0.75) * max(mm - room_mm, 0.0) / half
        for mm, half in zip(flat, whole.half, strict=True)
    )
    return whole.within_mm(t, float(u), float(w))


def _masses(whole: Shaped, rng: np.random.Generator) -> list[Paint]:
    """One mass of 1 to 6 cm, at times necrotic, seldom with one or two smaller ones beside it; up to fourteen
    spicules each."""
    made: list[Paint] = []
    room = 0.9 * min(
        whole.half[0] * min(1.0, whole.plates[0]), whole.half[1] * min(1.0, whole.plates[1]), whole.length / 2
    )
    half = min(float(np.exp(rng.uniform(np.log(5.0), np.log(30.0)))), room)
    for number in range(1 + int(rng.choice(3, p=[0.7, 0.2, 0.1]))):
        size = half if number == 0 else half * float(rng.uniform(0.25, 0.6))
        x, y, z = _place(whole, 0.6 * size, rng)
        a, b, c = (size * np.exp(rng.normal(0, 0.2, 3))).tolist()
        ball = Ellipsoid((x, y, z), (a, b, c), tuple(rng.uniform(-40, 40, 3).tolist()))
        made.append(paint(lobed(ball, rng), "tumour", Layer.DETAIL, WITHIN))
        for ray in rng.normal(0, 1, (int(rng.integers(0, 15)), 3)):
            way = ray / np.linalg.norm(ray)
            end = np.array([x, y, z]) + size * rng.uniform(1.3, 2.4) * way
            bend = np.array([x, y, z]) + 0.9 * size * way + rng.normal(0, 0.15 * size, 3)
            made.append(
                paint(
                    tube([(x, y, z), bend, end], [0.2 * size + 1.0, 0.1 * size + 0.8, 0.6]), "tumour",
                    Layer.DETAIL, WITHIN,
                )
            )
        if size > 9 and rng.random() < 0.3:
            made.append(
                paint(lobed(ball.shrunk(0.35 * size), rng), "fluid of a lesion", Layer.DETAIL, ("tumour",))
            )
    return made


def _cysts(whole: Shaped, rng: np.random.Generator) -> list[Paint]:
    """One to eight round cysts of 4 to 30 mm."""
    made = []
    for _ in range(int(rng.integers(1, 9))):
        half = float(np.exp(rng.uniform(np.log(2.0), np.log(15.0))))
        semi = (half * np.exp(rng.normal(0, 0.1, 3))).tolist()
        ball = Ellipsoid(_place(whole, half, rng), (semi[0], semi[1], semi[2]))
        made.append(paint(ball, "fluid of a lesion", Layer.DETAIL, WITHIN))
    return made


def _rest(name: str, whole: Shaped, rng: np.random.Generator) -> list[Paint]:
    """Enhancing clumps of 5 to 15 mm in a segment; or one or two clips, with signal voids of 5 to 12 mm."""
    if name == "segment":
        turn, wide, clump, least = rng.uniform((0.0, 0.25, 5.0, -0.3), (6.3, 0.9, 15.0, 1.8)).tolist()
        return [
            paint(
                Segment(whole, turn, wide, waves_of(rng, 7, 2 * clump), least), "tumour", Layer.DETAIL, WITHIN
            )
        ]
    balls = (
        Ellipsoid(_place(whole, 5.0, rng), (half, half, half))
        for half in rng.uniform(2.5, 6.0, int(rng.integers(1, 3))).tolist()
    )
    return [paint(ball, "metal", Layer.DETAIL, (*WITHIN, "tumour")) for ball in balls]
