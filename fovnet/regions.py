"""The vocabulary of body regions, as data.

Everything the rest of fovnet knows about anatomy's order is here: which regions form the chain from feet to head, which stand
beside it (a protocol such as spine, seen at the same heights as chest or abdomen), and the codes they are written with.
No other file names a region in a condition.

Codes: DICOM PS3.16 (2024b), Annex L, Table L-1 "SNOMED Concept ID to legacy Body Part Examined", and CID 4031.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

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

    @cached_property
    def chain(self) -> tuple[str, ...]:
        """Names of the ordered regions, feet to head."""
        ordered = [region for region in self.regions if region.rung is not None]
        return tuple(region.name for region in sorted(ordered, key=lambda region: region.rung or 0))

    @cached_property
    def protocols(self) -> tuple[str, ...]:
        """Names of the regions beside the chain, in the order given."""
        return tuple(region.name for region in self.regions if region.rung is None)

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The k class names in the order of every probability array (s, k)."""
        return (*self.chain, *self.protocols, NONE)

    def colour(self, name: str) -> str:
        """The figure colour of a class, "#rrggbb"; grey for none."""
        return next((region.colour for region in self.regions if region.name == name), "#9a9a9a")


@dataclass(frozen=True)
class Combined:
    """One DICOM term for several regions that touch."""

    body_part: str
    sct: str
    regions: tuple[str, ...]


COMBINED = (
    Combined("ABDOMENPELVIS", "818982008", ("abdomen", "pelvis")),
    Combined("CHESTABDOMEN", "416550000", ("chest", "abdomen")),
    Combined("CHESTABDPELVIS", "416775004", ("chest", "abdomen", "pelvis")),
    Combined("PELVISLOWEXTREMT", "1231522001", ("pelvis", "legs")),
    Combined("WHOLEBODY", "38266002", ("head", "chest", "abdomen", "pelvis", "legs")),
)

ELSEWHERE = frozenset(
    {"ANKLE", "ARM", "CLAVICLE", "ELBOW", "EXTREMITY", "FINGER", "FOOT", "FOREARM", "HAND", "SHOULDER", "TOE", "UPPEREXTREMITY",
     "UPPERLIMB", "WRIST"}
)  # fmt: skip
"""Terms of DICOM's Body Part Examined for parts that are no region here, or too far out to tell one."""


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
