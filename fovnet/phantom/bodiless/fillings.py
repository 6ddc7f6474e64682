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

PLASTIC = Tissue("plastic", 0.0, (500.0, 500.0), (0.5, 0.5), (0.3, 0.3), texture_variation=0.0)
AIR_TISSUE = TISSUES[AIR]
NO_GRAIN_SHARE = 0.6  # of fillings; the others have the grain of a gel


def draw_vessel_tissues(rng: np.random.Generator) -> tuple[Tissue, ...]:
    """Air, plastic, and contents drawn each for itself, now and then air or plastic among them."""
    contents = [draw_filling(rng) for _ in range(LABEL_COUNT - 2)]
    for index in range(1, len(contents)):
        if rng.random() < 0.2:
            contents[index] = AIR_TISSUE
            if rng.random() < 0.5:
                contents[index] = PLASTIC
    return (AIR_TISSUE, PLASTIC, *contents)


def draw_filling(rng: np.random.Generator) -> Tissue:
    """Water, doped water, a gel or an oil."""
    kind_dice = rng.random()
    texture_variation = 0.0
    if rng.random() >= NO_GRAIN_SHARE:
        texture_variation = rng.uniform(0.01, 0.12)
    pd = 1.0
    fat_fraction = 0.0
    if kind_dice < 0.15:
        name = "water"
        t1_ms = rng.uniform(2400, 3200)
        t2_ms = rng.uniform(900, 2200)
    elif kind_dice < 0.6:
        name = "doped water"
        t1_ms = log_uniform(40, 1500, rng)
        t2_ms = t1_ms * rng.uniform(0.5, 0.95)
    elif kind_dice < 0.85:
        name = "gel"
        t1_ms = rng.uniform(400, 2500)
        t2_ms = log_uniform(20, 150, rng)
        pd = rng.uniform(0.85, 1.0)
    else:
        name = "oil"
        t1_ms = rng.uniform(180, 900)
        t2_ms = rng.uniform(50, 160)
        pd = rng.uniform(0.8, 1.0)
        fat_fraction = float(rng.choice([0.0, 0.9, 1.0]))
    return _filling_tissue(name, t1_ms, t2_ms, pd, fat_fraction, texture_variation)


def draw_fruit_tissues(rng: np.random.Generator) -> tuple[Tissue, ...]:
    """Air, the rind of a fruit, its flesh, the fibres between, its core and its seeds, and two
    fillings."""
    t1_ms = rng.uniform(700, 2200)
    t2_ms = rng.uniform(60, 600)
    grain = rng.uniform(0.03, 0.2)
    rind_t2_ms = rng.uniform(15, 60)
    rind = _filling_tissue("rind", 0.6 * t1_ms, rind_t2_ms, rng.uniform(0.4, 0.9), 0.0, grain)
    flesh = _filling_tissue("flesh", t1_ms, t2_ms, 1.0, 0.0, grain)
    fibre_t2_ms = rng.uniform(8, 50)
    fibre = _filling_tissue("fibre", 0.7 * t1_ms, fibre_t2_ms, rng.uniform(0.3, 0.9), 0.0, grain)
    t1_factor, t2_factor = rng.uniform((0.6, 0.3), (1.3, 1.5)).tolist()
    core = _filling_tissue("core", t1_factor * t1_ms, t2_factor * t2_ms, 0.95, 0.0, grain)
    seed = _filling_tissue("seed", 300.0, 20.0, rng.uniform(0.1, 0.6), 0.3, 0.0)
    return (AIR_TISSUE, rind, flesh, fibre, core, seed, draw_filling(rng), draw_filling(rng))


def _filling_tissue(
    name: str, t1_ms: float, t2_ms: float, pd: float, fat_fraction: float, texture_variation: float
) -> Tissue:
    """One material, its T1 a tenth longer at 3 T, its T2 no longer than its T1."""
    t2_ms = min(t2_ms, t1_ms)
    t2star_ms = (1 / (1 / t2_ms + 0.003), 1 / (1 / t2_ms + 0.006))
    return Tissue(
        name,
        pd,
        (t1_ms, 1.1 * t1_ms),
        (t2_ms, t2_ms),
        t2star_ms,
        fat_fraction,
        texture_variation=texture_variation,
    )
