"""What vessels and fruit are filled with: water, pure or doped, gels, oils, and materials without
signal.

T1 and T2 of doped water follow from the relaxivity of nickel, copper, manganese or gadolinium,
between 40 ms and those of pure water; agarose shortens T2 to 20 to 150 ms (Mitchell et al. (1986),
Magn Reson Imaging 4:263; Kraft et al. (1987), Magn Reson Med 5:555); oils and silicone have one
line of fat or near it.
"""

from __future__ import annotations

import numpy as np

from fovnet.phantom.bodiless.thing import PARTS, log_uniform
from fovnet.phantom.scanner.tissues import AIR, TISSUES, Tissue

PLASTIC = Tissue("plastic", 0.0, (500.0, 500.0), (0.5, 0.5), (0.3, 0.3), mottle=0.0)
NOTHING = TISSUES[AIR]
UNIFORM_SHARE = 0.6  # of fillings; the others have the grain of a gel


def vessel_table(rng: np.random.Generator) -> tuple[Tissue, ...]:
    """Air, plastic, and contents drawn each for itself, now and then air or plastic among them."""
    contents = [filling(rng) for _ in range(PARTS - 2)]
    for index in range(1, len(contents)):
        if rng.random() < 0.2:
            contents[index] = PLASTIC if rng.random() < 0.5 else NOTHING
    return (NOTHING, PLASTIC, *contents)


def filling(rng: np.random.Generator) -> Tissue:
    """Water, doped water, a gel or an oil."""
    kind = rng.random()
    mottle = 0.0 if rng.random() < UNIFORM_SHARE else rng.uniform(0.01, 0.12)
    if kind < 0.15:
        t1 = rng.uniform(2400, 3200)
        t2 = rng.uniform(900, 2200)
        return _tissue("water", t1, t2, 1.0, 0.0, mottle)
    if kind < 0.6:
        t1 = log_uniform(40, 1500, rng)
        return _tissue("doped water", t1, t1 * rng.uniform(0.5, 0.95), 1.0, 0.0, mottle)
    if kind < 0.85:
        t1 = rng.uniform(400, 2500)
        t2 = log_uniform(20, 150, rng)
        return _tissue("gel", t1, t2, rng.uniform(0.85, 1.0), 0.0, mottle)
    return _tissue(
        "oil",
        rng.uniform(180, 900),
        rng.uniform(50, 160),
        rng.uniform(0.8, 1.0),
        float(rng.choice([0.0, 0.9, 1.0])),
        mottle,
    )


def flesh_table(rng: np.random.Generator) -> tuple[Tissue, ...]:
    """Air, the rind of a fruit, its flesh, the fibres between, its core and its seeds."""
    t1 = rng.uniform(700, 2200)
    t2 = rng.uniform(60, 600)
    grain = rng.uniform(0.03, 0.2)
    rind = _tissue("rind", 0.6 * t1, rng.uniform(15, 60), rng.uniform(0.4, 0.9), 0.0, grain)
    flesh = _tissue("flesh", t1, t2, 1.0, 0.0, grain)
    fibre = _tissue("fibre", 0.7 * t1, rng.uniform(8, 50), rng.uniform(0.3, 0.9), 0.0, grain)
    t1_factor, t2_factor = rng.uniform((0.6, 0.3), (1.3, 1.5)).tolist()
    core = _tissue("core", t1_factor * t1, t2_factor * t2, 0.95, 0.0, grain)
    seed = _tissue("seed", 300.0, 20.0, rng.uniform(0.1, 0.6), 0.3, 0.0)
    return (NOTHING, rind, flesh, fibre, core, seed, filling(rng), filling(rng))


def _tissue(name: str, t1_ms: float, t2_ms: float, pd: float, fat: float, mottle: float) -> Tissue:
    """One material, its T1 a tenth longer at 3 T."""
    t2 = min(t2_ms, t1_ms)
    t2star = (1 / (1 / t2 + 0.003), 1 / (1 / t2 + 0.006))
    return Tissue(name, pd, (t1_ms, 1.1 * t1_ms), (t2, t2), t2star, fat, mottle=mottle)
