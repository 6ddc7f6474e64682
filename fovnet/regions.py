"""The vocabulary of body regions, as data.

Everything the rest of fovnet knows about anatomy's order is here: which regions form the chain from feet to head, which stand
beside it (a protocol such as spine, seen at the same heights as chest or abdomen), and the codes they are written with.
No other file names a region in a condition.

Codes: DICOM PS3.16 (2024b), Annex L, Table L-1 "SNOMED Concept ID to legacy Body Part Examined", and CID 4031.
"""

from __future__ import annotations

from dataclasses import dataclass

NONE = "none"
"""The class of a slice that shows no region of the vocabulary: air, noise, an arm."""


@dataclass(frozen=True)
class Region:
    """One body region.

    rung        position in the chain, counted from the feet; None for a protocol that stands beside the chain
    colour      "#rrggbb" for every figure
    sct         SNOMED CT concept id;  body_part the DICOM Body Part Examined (0018,0015) we write
    synonyms    what we read as this region, upper case
    """

    name: str
    rung: int | None
    colour: str
    sct: str = ""
    body_part: str = ""
    synonyms: tuple[str, ...] = ()


@dataclass(frozen=True)
class Vocabulary:
    """The regions a network distinguishes, and the class order of every probability array: chain, protocols, none."""

    regions: tuple[Region, ...]

    @property
    def chain(self) -> tuple[str, ...]:
        """Names of the ordered regions, feet to head."""
        ordered = [region for region in self.regions if region.rung is not None]
        return tuple(region.name for region in sorted(ordered, key=lambda region: region.rung or 0))

    @property
    def protocols(self) -> tuple[str, ...]:
        """Names of the regions beside the chain, in the order given."""
        return tuple(region.name for region in self.regions if region.rung is None)

    @property
    def classes(self) -> tuple[str, ...]:
        """The k class names in the order of every probability array (s, k)."""
        return (*self.chain, *self.protocols, NONE)

    @property
    def faces(self) -> tuple[str, ...]:
        """The regions whose slices may show a face: the one farthest from the feet, for the neck counts as head."""
        return self.chain[-1:]

    def colour(self, name: str) -> str:
        """The figure colour of a class, "#rrggbb"; for none a dark grey: a light one looks like spine to a reader without green cones."""
        return next((region.colour for region in self.regions if region.name == name), "#585858")


# Okabe & Ito's palette (2008): told apart by readers with any common colour-vision deficiency.
DEFAULT = Vocabulary(
    (
        Region("legs", 0, "#0072b2", "61685007", "LOWERLIMB", ("LEG", "LEGS", "LOWER LIMB", "LOWERLIMB", "THIGH", "CALF", "KNEE")),
        Region("pelvis", 1, "#009e73", "816092008", "PELVIS", ("PELVIS", "HIP", "PROSTATE")),
        Region("abdomen", 2, "#f0e442", "818981001", "ABDOMEN", ("ABDOMEN", "ABD", "LIVER")),
        Region("chest", 3, "#e69f00", "816094009", "CHEST", ("CHEST", "THORAX", "BREAST", "HEART")),
        Region("head", 4, "#d55e00", "69536005", "HEAD", ("HEAD", "BRAIN", "SKULL", "NECK")),
        Region("spine", None, "#cc79a7", "421060004", "SPINE", ("SPINE", "CSPINE", "TSPINE", "LSPINE", "LUMBAR SPINE")),
    )
)

LANDMARKS = {
    ("legs", "pelvis"): "the lower end of the ischium",
    ("pelvis", "abdomen"): "the top of the iliac crest",
    ("abdomen", "chest"): "the top of the liver dome",
    ("chest", "head"): "the lung apex, so that the neck counts as head",
}
"""Where one region of the default vocabulary ends and the next begins: what labels have to follow to be comparable."""
