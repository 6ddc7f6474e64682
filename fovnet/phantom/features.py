"""The features that the simulator varies, by name, so that each can be left out: `phantom.without`
of a configuration, `workflow/experiments/screening.py`.

Without all of SCANNING, fields of view are those of a department's usual examinations, and images
those of a careful site; without all of ANATOMY, bodies are plain ones; without BODILESS, so is what
is no body.  What a feature does not affect is bit-identical without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fovnet.errors import ConfigError
from fovnet.words import did_you_mean

ANATOMY: Mapping[str, str] = {
    "deformation": "organs and outlines bent smoothly at every scale from 4 to 15 cm, so that no two bodies "
    "are alike",
    "joints and organs": "ligaments, menisci, prostate zones, papillary muscles, disc nuclei and the other "
    "parts of 1 to 10 mm",
    "lesions": "tumours, cysts, bruises, effusions of 1 to 15 cm in one person of four, in a leg of one of "
    "twelve; spots in white matter",
    "tissue structure": "muscle has septa and streaks of fat, fat has fasciae and vessels, a breast has "
    "strands of gland",
    "fat in places": "more fat on the belly, the flanks, the back or the thighs, rolls, trunks "
    "from round to square and flat",
    "builds": "a wall of the abdomen from 1 to 4 cm thick, much or little psoas, back and buttocks, narrow "
    "waists, lean trunks up to twice "
    "as wide as deep",
    "cross-sections": "trunks flat or round, lens- or box-shaped in cross-section, different at the hips "
    "and the waist",
    "organs high and low": "kidneys from the iliac crest to 9 cm above it, right lobes of the liver of 10 to "
    "20 cm, sagging colons, ribs that end 1 to 9 cm above the crest",
    "open walls": "straight muscles of the abdomen apart from the flat ones, which are crescents at the "
    "sides and end before the loin",
    "kinds of breasts": "breasts of 50 to 1500 ml, hanging as cones, columns, drops or mounds, in a coil or "
    "between plates, from nearly "
    "all fat to nearly all gland, with uneven muscle behind them, armpits, masses, cysts and clips",
    "masses in legs": "in one person of six a mass of 2 to 15 cm in a leg that pushes tissue aside, and "
    "fields of view around it",
    "true places": "motion stays around the labelled position, artefacts run along the slices of a turned "
    "field, boxes are also placed in small bodies, and each muscle of a leg is moved and "
    "scaled separately",
    "borders as measured": "shoulders drawn up as in people who lie, 2 to 3 cm above the tops of the "
    "lungs, ischia 7 to 10 cm below the hip joint, apices, crests and domes that "
    "differ along the spine",
    "varied bodies": "children, the very obese, wasted muscle, prone women, one kidney, no uterus, metal "
    "hips, implants",
}
"""Variation of bodies: names and a sentence each."""

SCANNING: Mapping[str, str] = {
    "small fields": "fields of view of one organ or part, boxes anywhere in the body down to 10 cm, cut-outs "
    "of the spine, oblique hearts",
    "more breasts and hearts": "half of a prone woman's other fields are one breast, one volume in twelve a "
    "heart across its axis",
    "organs closely": "one volume in twelve is of kidneys, a liver, a rectum, great vessels, a calf or the "
    "like, which fills the picture",
    "fields by the body": "fields that end at the skin or leave much air on one side, one organ in "
    "pictures of any size from 9 to 42 cm",
    "thin slabs": "coronal and sagittal stacks a few centimetres deep, slabs of 3 to 12 slices, wide gaps, "
    "localisers, voxels of 6 mm",
    "stacked localisers": "one volume in ten is a quick overview: thick slices, wide fields that fold over, "
    "turbo FLASH and single shots, "
    "coils most sensitive near the skin",
    "free contrasts": "tissues of any brightness, gamma, inverted scales, diffusion, angiography, contrast "
    "agent early and late",
    "coil fall-off": "surface coils sensitive on one side or in the middle only, and uncorrected smooth "
    "brightness variation",
    "coils about breasts": "hanging breasts are imaged by small coil elements around them: white skin, grey "
    "depth, a dark chest",
    "artefacts": "wrap-around, ghosts, motion, chemical shift, metal, ringing, spikes, noisy lines, filters, "
    "noise little to very much, "
    "echo-planar images pulled out of shape",
    "masks": "brains cut out well or badly, boxes and cubes, no faces, black backgrounds, clipped "
    "intensities, borders, negatives",
    "turned headers": "one in eight volumes of one region, four of five hearts along their own axes, claims "
    "that its slices are axial",
}
"""Variation of scans: names and a sentence each."""


BODILESS: Mapping[str, str] = {
    "things of many kinds": "two of three volumes without a body show vessels, phantoms of quality control, "
    "fruit, animals or a hand, in any coil, plane and sequence, with artefacts, "
    "instead of noise or a plain bottle",
}
"""Variation of volumes without a body: names and a sentence each."""


def all_features() -> dict[str, str]:
    """Every feature that can be left out, with its sentence."""
    return {**ANATOMY, **SCANNING, **BODILESS}


EVERYTHING = "everything"
"""Stands for all of them."""


def features_left_out(names: Iterable[str]) -> frozenset[str]:
    """The features named; all of them if "everything" is named.

    Raises ConfigError "phantom-feature" for an unknown one, with the nearest known.
    """
    chosen_names = list(names)
    sentences = all_features()
    if EVERYTHING in chosen_names:
        return frozenset(sentences)
    for name in chosen_names:
        if name not in sentences:
            hint = did_you_mean(name, sentences, f"known are {', '.join((*sentences, EVERYTHING))}")
            raise ConfigError(
                "phantom-feature", f"without {name!r}: the simulator has no such feature; {hint}"
            )
    return frozenset(chosen_names)
