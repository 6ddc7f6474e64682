"""What the simulator varies, by name, so that each can be left out: `phantom.without` of a configuration, `fovnet bench simulator`.

Without all of SCANNING, fields of view are those of a department's usual examinations, and images are as a careful site makes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from fovnet.errors import ConfigError

SCANNING: Mapping[str, str] = {
    "small fields": "fields of view of one organ or part, boxes anywhere in the body down to 10 cm, cut-outs of the spine, oblique hearts",
    "thin slabs": "coronal and sagittal stacks a few centimetres deep, slabs of 3 to 12 slices, wide gaps, localisers, voxels of 6 mm",
    "free contrasts": "tissues of any brightness, gamma, inverted scales, diffusion, angiography, contrast agent early and late",
    "coil fall-off": "surface coils that hear one side or the middle only, and smooth fields of brightness left uncorrected",
    "artefacts": "wrap-around, ghosts, motion, chemical shift, metal, ringing, spikes, noisy lines, filters, noise little to very much",
    "masks": "brains without skulls, heads without faces, black backgrounds, clipped intensities, constant borders, negative numbers",
}
"""What the scanner varies: a name and a sentence each."""


def known_features() -> dict[str, str]:
    """Every feature that can be left out, with its sentence."""
    return {**SCANNING}


def left_out(names: Iterable[str]) -> frozenset[str]:
    """The features named.  Raises ConfigError ("phantom-feature") for one that is none, with the nearest that is."""
    wanted, known = list(names), known_features()
    for name in wanted:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
            raise ConfigError("phantom-feature", f"without {name!r}: the simulator has no such feature; {hint}")
    return frozenset(wanted)
