"""One scanner, on which everybody in a collection is imaged: three sequences with contrasts, a coil
and noise of its own, as an archive has them.  For trying what labels of an archive are worth before
anybody labels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fovnet.phantom.acquisition.protocols import SEQUENCES, Plan
from fovnet.phantom.scanner.contrasts import FreeContrast
from fovnet.phantom.scanner.scan import Coil
from fovnet.phantom.scanner.sequence import PulseSequence

LEFT_OUT_OF_BODIES = frozenset(
    {"free contrasts", "coil fall-off", "coils on the skin", "coils about breasts"}
)
"""Features of `fovnet.phantom.features` that are the scanner's own here."""
ELEMENT_DISTANCE_MM = 120.0  # between elements along the body


@dataclass(frozen=True)
class Scanner:
    """What images everybody.

    sequences    (3,)
    contrasts    one for each sequence
    reach_mm     of the elements of its coil, which are in three columns
    coil_side    1 if they are in front of the body, -1 behind it
    bias_spread  of the coil, smooth
    snr          as in `Acquisition`
    """

    sequences: tuple[PulseSequence, ...]
    contrasts: tuple[FreeContrast, ...]
    reach_mm: float
    coil_side: float
    bias_spread: float
    snr: float

    def image_plan(self, plan: Plan, rng: np.random.Generator) -> Plan:
        """The same field of view on this scanner, with one of its sequences."""
        sequence_index = int(rng.integers(len(self.sequences)))
        coil = Coil(
            centres_mm=self._element_centres(plan),
            reach_mm=self.reach_mm,
            element_share=0.97,
            half_signal_mm=200.0,
            bias_spread=self.bias_spread,
        )
        return replace(plan, sequence=self.sequences[sequence_index]).with_acquisition(
            free_contrast=self.contrasts[sequence_index],
            coil=coil,
            snr=self.snr,
            echo_planar=None,
        )

    def _element_centres(self, plan: Plan) -> tuple[tuple[float, float, float], ...]:
        """Centres (c, 3) in mm: beside the middle of the field, as far along the body as it
        reaches."""
        shape = np.array(plan.grid.shape)
        vox_to_ras = plan.grid.vox_to_ras
        middle_x, middle_y, middle_z = vox_to_ras[:3] @ (*(shape - 1) / 2, 1.0) - plan.isocentre_mm
        half_mm = np.abs(vox_to_ras[:3, :3]) @ shape / 2
        reach_mm = min(half_mm[2], 250.0)
        column_distance_mm = 0.7 * min(half_mm[0], 180.0)
        y_mm = float(middle_y + self.coil_side * min(half_mm[1], 140.0))
        return tuple(
            (float(middle_x + column_index * column_distance_mm), y_mm, float(middle_z + height_mm))
            for column_index in (-1, 0, 1)
            for height_mm in np.arange(-reach_mm, reach_mm + 1, ELEMENT_DISTANCE_MM)
        )


def draw_scanner(seed: int) -> Scanner:
    """The scanner of a seed; the third of its contrasts is inverted."""
    rng = np.random.default_rng([77, seed])
    sequences = tuple(
        SEQUENCES[int(sequence_index)] for sequence_index in rng.integers(len(SEQUENCES), size=3)
    )
    contrasts = tuple(
        FreeContrast(
            rng.uniform(0.6, 1.0),
            int(rng.integers(2**31)),
            float(np.exp(rng.uniform(-0.7, 0.7))),
            is_inverted=is_inverted,
        )
        for is_inverted in (False, False, True)
    )
    return Scanner(
        sequences=sequences,
        contrasts=contrasts,
        reach_mm=rng.uniform(35, 70),
        coil_side=float(rng.choice([-1, 1])),
        bias_spread=rng.uniform(0.35, 0.6),
        snr=rng.uniform(7, 12),
    )
