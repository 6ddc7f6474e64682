"""The stable codes of doubts and refusals, as a person reads them in a table; the codes themselves stand in the JSON of every volume."""

from __future__ import annotations

NONE_SHOWN = {"none": "shows none of the regions"}
"""What is said of a volume that is answered, and of which nothing can be named."""
DOUBTS = {
    "unlike-training": "unlike what the networks know",
    "members-disagree": "the networks disagree",
    "too-few-slices": "too few slices",
    "out-of-order": "slices perhaps out of order",
    "flipped": "possibly flipped head to feet",
    "low-confidence": "not sure enough",
    "other-regions": "rather a region more or less",
    "two-answers": "two answers nearly equal",
}
"""Why an answer is "cannot say"."""
REFUSALS = {
    "volume-corrupt": "damaged", "volume-truncated": "not whole", "volume-empty": "empty file", "volume-missing": "no such file",
    "volume-permission": "may not be read", "volume-unreadable": "cannot be read", "volume-format": "unknown format",
    "volume-geometry": "does not say where it lies", "volume-orientation": "orientation unclear", "volume-tilt": "too oblique",
    "volume-outside": "outside its own grid", "volume-shape": "shape of no volume", "volume-gaps": "slices missing",
    "volume-doubled": "slices doubled", "volume-several": "several volumes in one", "volume-series": "no such series",
    "volume-constant": "one value everywhere", "volume-nonfinite": "no finite values", "volume-rgb": "colours", "volume-labels": "labels",
    "volume-ct": "a CT", "volume-modality": "not MR", "volume-mosaic": "mosaic not understood", "volume-encoding": "encoding not read",
    "volume-transfer-syntax": "encoding not read", "volume-bits": "encoding not read", "volume-rescale": "rescaling not understood",
    "volume-too-large": "too large", "volume-crash": "ended its process", "volume-no-dicom": "no DICOM in it",
    "volume-dicomdir": "a table of contents", "volume-archive-nested": "an archive in an archive", "volume-archive-size": "archive too big",
    "volume-archive-path": "an unsafe archive", "volume-archive-format": "not read inside archives",
    "volume-archive-encrypted": "an encrypted archive", "volume-complex": "complex numbers", "volume-type": "numbers not read",
    "volume-no-pixels": "no image in it", "volume-screenshot": "a picture of a screen", "volume-localizer": "a localiser",
    "volume-derived": "computed of other images", "volume-phase": "a phase image", "volume-single": "a single image",
    "volume-repeat": "a later echo or time point", "volume-set-aside": "several series, none of them a volume",
}  # fmt: skip
"""Why a volume was refused."""


def doubt_in_words(code: str) -> str:
    """ "two answers nearly equal", "refused: damaged"; a code that has no words, with blanks for its hyphens."""
    if code in REFUSALS:
        return f"refused: {REFUSALS[code]}"
    return DOUBTS.get(code) or code.replace("-", " ")
