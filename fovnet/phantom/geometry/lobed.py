"""Ellipsoids with smooth bulges, the outlines of lesions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.geometry.solids import Bools, Ellipsoid, Floats, Solid

LARGEST_LOBE = 0.45  # largest relative change of a lesion's level by noise


@dataclass(frozen=True)
class Lobed(Solid):
    """An ellipsoid with smooth bulges: level · (1 + noise) ≤ 1, noise a sum of three waves of about
    the ellipsoid's own size.

    waves      (3, 4) wave numbers along x, y, z in 1 / mm, and phases
    lobe_size  the largest noise
    """

    ellipsoid: Ellipsoid
    waves: tuple[tuple[float, ...], ...]
    lobe_size: float
    is_costly = True

    @property
    def box(self) -> NDArray[np.float64]:
        return self.enclosing_ellipsoid.box

    @cached_property
    def enclosing_ellipsoid(self) -> Ellipsoid:
        """The ellipsoid that encloses the bulges."""
        return replace(
            self.ellipsoid,
            half_axes_mm=tuple(
                half_axis / (1 - self.lobe_size) ** 0.5 for half_axis in self.ellipsoid.half_axes_mm
            ),
        )

    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        """True (the broadcast shape of x, y, z) at points within the bulging surface."""
        noise = sum(
            np.sin(wave_number_x * x + wave_number_y * y + wave_number_z * z + phase)
            for wave_number_x, wave_number_y, wave_number_z, phase in self.waves
        )
        return np.asarray(
            self.ellipsoid.level(x, y, z) * (1 + self.lobe_size / len(self.waves) * noise) <= 1.0
        )

    def shrink(self, mm: float) -> Lobed:
        return replace(self, ellipsoid=self.ellipsoid.shrink(mm))


def draw_lobed(base: Ellipsoid, rng: np.random.Generator) -> Lobed:
    """The ellipsoid with random bulges."""
    mean_half_axis = np.mean(base.half_axes_mm)
    waves = [
        (*rng.normal(0, 1.6 / mean_half_axis, 3).tolist(), rng.uniform(0, 2 * np.pi))
        for _ in range(3)
    ]
    return Lobed(base, tuple(waves), rng.uniform(0.15, LARGEST_LOBE))
