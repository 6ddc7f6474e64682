"""What vessels and fruit are filled with: water, pure or doped, gels, oils, and materials without
signal.

T1 and T2 of doped water follow from the relaxivity of nickel, copper, manganese or gadolinium,
between 40 ms and those of pure water; agarose shortens T2 to 20 to 150 ms (Mitchell et al. (1986),
Magn Reson Imaging 4:263; Kraft et al. (1987), Magn Reson Med 5:555); oils and silicone have one
line of fat or near it.
"""

from __future__ import annotations

import numpy as np

from fovnet.phantom.bodiless.thing import LABEL_COUNT, log_uniform
from fovnet.phantom.scanner.tissues import AIR, TISSUES, Tissue

PLASTIC = Tissue("plastic", 0.0, (500.0, 500.0), (0.5, 0.5), (0.3, 0.3), mottle=0.0)
AIR_TISSUE = TISSUES[AIR]
NO_GRAIN_SHARE = 0.6  # of fillings; the others have the grain of a gel


def vessel_table(rng: np.random.Generator) -> tuple[Tissue, ...]:
    """Air, plastic, and contents drawn each for itself, now and then air or plastic among them."""
    contents = [filling(rng) for _ in range(LABEL_COUNT - 2)]
    for index in range(1, len(contents)):
        if rng.random() < 0.2:
            contents[index] = PLASTIC if rng.random() < 0.5 else AIR_TISSUE
    return (AIR_TISSUE, PLASTIC, *contents)


def filling(rng: np.random.Generator) -> Tissue:
    """Water, doped water, a gel or an oil."""
    kind_dice = rng.random()
    mottle = 0.0 if rng.random() < NO_GRAIN_SHARE else rng.uniform(0.01, 0.12)
    if kind_dice < 0.15:
        t1_ms = rng.uniform(2400, 3200)
        t2_ms = rng.uniform(900, 2200)
        return _filling_tissue("water", t1_ms, t2_ms, 1.0, 0.0, mottle)
    if kind_dice < 0.6:
        t1_ms = log_uniform(40, 1500, rng)
        return _filling_tissue(
            "doped water", t1_ms, t1_ms * rng.uniform(0.5, 0.95), 1.0, 0.0, mottle
        )
    if kind_dice < 0.85:
        t1_ms = rng.uniform(400, 2500)
        t2_ms = log_uniform(20, 150, rng)
        return _filling_tissue("gel", t1_ms, t2_ms, rng.uniform(0.85, 1.0), 0.0, mottle)
    return _filling_tissue(
        "oil",
        rng.uniform(180, 900),
        rng.uniform(50, 160),
        rng.uniform(0.8, 1.0),
        float(rng.choice([0.0, 0.9, 1.0])),
        mottle,
    )


def flesh_table(rng: np.random.Generator) -> tuple[Tissue, ...]:
    """Air, the rind of a fruit, its flesh, the fibres between, its core and its seeds."""
    t1_ms = rng.uniform(700, 2200)
    t2_ms = rng.uniform(60, 600)
    grain_mottle = rng.uniform(0.03, 0.2)
    rind_tissue = _filling_tissue(
        "rind", 0.6 * t1_ms, rng.uniform(15, 60), rng.uniform(0.4, 0.9), 0.0, grain_mottle
    )
    flesh_tissue = _filling_tissue("flesh", t1_ms, t2_ms, 1.0, 0.0, grain_mottle)
    fibre_tissue = _filling_tissue(
        "fibre", 0.7 * t1_ms, rng.uniform(8, 50), rng.uniform(0.3, 0.9), 0.0, grain_mottle
    )
    t1_factor, t2_factor = rng.uniform((0.6, 0.3), (1.3, 1.5)).tolist()
    core_tissue = _filling_tissue(
        "core", t1_factor * t1_ms, t2_factor * t2_ms, 0.95, 0.0, grain_mottle
    )
    seed_tissue = _filling_tissue("seed", 300.0, 20.0, rng.uniform(0.1, 0.6), 0.3, 0.0)
    return (
        AIR_TISSUE,
        rind_tissue,
        flesh_tissue,
        fibre_tissue,
        core_tissue,
        seed_tissue,
        filling(rng),
        filling(rng),
    )


def _filling_tissue(
    name: str, t1_ms: float, t2_ms: float, pd: float, fat: float, mottle: float
) -> Tissue:
    """One material, its T1 a tenth longer at 3 T."""
    shorter_t2_ms = min(t2_ms, t1_ms)
    t2star_ms = (1 / (1 / shorter_t2_ms + 0.003), 1 / (1 / shorter_t2_ms + 0.006))
    return Tissue(
        name,
        pd,
        (t1_ms, 1.1 * t1_ms),
        (shorter_t2_ms, shorter_t2_ms),
        t2star_ms,
        fat,
        mottle=mottle,
    )
