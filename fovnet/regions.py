"""The vocabulary of body regions, as data.

Everything that fovnet knows about the order of regions is here: which of them form the chain from
feet to head, which are outside the chain (a side region such as spine, seen at the same heights as
chest or abdomen), and their codes. No other file names a region in a condition.

Two vocabularies are here: DEFAULT, and NINE, in which the legs and the head have parts (PARTS).

Codes: DICOM PS3.16 (2024b), Annex L, Table L-1 "SNOMED Concept ID to legacy Body Part Examined",
and CID 4031.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

NONE = "none"
"""The class of a slice that shows no region of the vocabulary: air, noise, an arm."""


@dataclass(frozen=True)
class Region:
    """One body region.

    rung        position in the chain, counted from the feet; None for a side region, outside the
                chain
    colour      "#rrggbb" for every figure
    sct         SNOMED CT concept id
    body_part   the DICOM Body Part Examined (0018,0015) we write
    synonyms    what we read as this region, upper case
    meaning     the concept's name, written beside its code
    level       of a chain region: the name of a side region at its height (of the spine at the
                chest's, "thoracic")
    """

    name: str
    rung: int | None
    colour: str
    sct: str = ""
    body_part: str = ""
    synonyms: tuple[str, ...] = ()
    level: str = ""
    meaning: str = ""

    @property
    def words(self) -> frozenset[str]:
        """All names and synonyms by which a table or a header may call it, normalised by
        `as_word`."""
        return frozenset(map(as_word, (self.name, self.body_part, *self.synonyms))) - {""}

    @property
    def term(self) -> Term | None:
        """Its concept; None without a SNOMED CT code."""
        if not self.sct:
            return None
        return Term(self.sct, self.meaning or self.name, self.body_part)


def as_word(text: str) -> str:
    """A name normalised for comparison: upper case, underscores as blanks, single blanks, Unicode
    NFC (macOS writes ü as u and dots)."""
    return " ".join(unicodedata.normalize("NFC", text).upper().replace("_", " ").split())


@dataclass(frozen=True)
class Term:
    """One concept: SNOMED CT id, its name, and the Body Part Examined (0018,0015) that goes with
    it."""

    sct: str
    meaning: str
    body_part: str


LEGS = "61685007"
PELVIS = "816092008"
ABDOMEN = "818981001"
CHEST = "816094009"
HEAD = "69536005"
FOOT = "56459004"
LOWER_LEG = "30021000"
KNEE = "72696002"
THIGH = "68367000"
NECK = "45048000"
TERM_BY_CODES = {
    frozenset({ABDOMEN, PELVIS}): Term("818982008", "Abdomen and Pelvis", "ABDOMENPELVIS"),
    frozenset({CHEST, ABDOMEN}): Term("416550000", "Chest and Abdomen", "CHESTABDOMEN"),
    frozenset({CHEST, ABDOMEN, PELVIS}): Term(
        "416775004", "Chest, Abdomen and Pelvis", "CHESTABDPELVIS"
    ),
    frozenset({LEGS, PELVIS}): Term(
        "1231522001", "Pelvis and lower extremities", "PELVISLOWEXTREMT"
    ),
    frozenset({LEGS, PELVIS, ABDOMEN, CHEST, HEAD}): Term("38266002", "Entire body", "WHOLEBODY"),
}
"""Concepts for several regions together, by the set of their SNOMED CT ids."""

LEG_PARTS = frozenset({FOOT, LOWER_LEG, KNEE, THIGH})
TRUNK = frozenset({PELVIS, ABDOMEN, CHEST})
PART_TERM_BY_CODES = {
    LEG_PARTS: Term(LEGS, "Lower limb", "LOWERLIMB"),
    LEG_PARTS | {PELVIS}: TERM_BY_CODES[frozenset({LEGS, PELVIS})],
    frozenset({NECK, HEAD}): Term("774007", "Head and Neck", "HEADNECK"),
    frozenset({CHEST, NECK}): Term("417437006", "Neck and Chest", "NECKCHEST"),
    frozenset({ABDOMEN, CHEST, NECK}): Term(
        "416152001", "Neck, Chest and Abdomen", "NECKCHESTABDOMEN"
    ),
    TRUNK | {NECK}: Term("416319003", "Neck, Chest, Abdomen and Pelvis", "NECKCHESTABDPELV"),
    LEG_PARTS | TRUNK | {NECK, HEAD}: TERM_BY_CODES[frozenset({LEGS, HEAD}) | TRUNK],
}
"""The same for regions of which some are parts."""


@dataclass(frozen=True)
class Vocabulary:
    """The regions a network distinguishes, and the class order of every probability array: chain,
    side regions, none."""

    regions: tuple[Region, ...]

    @cached_property
    def chain(self) -> tuple[str, ...]:
        """Names of the ordered regions, feet to head."""
        return tuple(region.name for region in self._chain_regions)

    @cached_property
    def _chain_regions(self) -> list[Region]:
        regions = [region for region in self.regions if region.rung is not None]
        return sorted(regions, key=lambda region: region.rung or 0)

    @cached_property
    def side_regions(self) -> tuple[str, ...]:
        """Names of the regions outside the chain, in the order given."""
        return tuple(region.name for region in self.regions if region.rung is None)

    @cached_property
    def levels(self) -> tuple[str, ...]:
        """The name of a side region at the height of each chain region, feet to head; "" if it has
        none there."""
        return tuple(region.level for region in self._chain_regions)

    @cached_property
    def parts(self) -> Mapping[str, tuple[str, ...]]:
        """The parts, feet to head, of each region in whose place the chain has them all, by their
        names and codes."""
        whole_by_codes = {
            tuple(part.sct for part in parts): whole for whole, parts in _REGIONS_BY_WHOLE.items()
        }
        parts_by_whole = {}
        for start, stop in find_part_groups(self.chain):
            codes = tuple(region.sct for region in self._chain_regions[start:stop])
            if codes in whole_by_codes:
                parts_by_whole[whole_by_codes[codes]] = self.chain[start:stop]
        return parts_by_whole

    @cached_property
    def whole(self) -> Vocabulary:
        """The same with each whole region in the place of its parts; itself, if it has no parts."""
        if not self.parts:
            return self
        whole_by_part = {part: whole for whole, parts in self.parts.items() for part in parts}
        names = dict.fromkeys(whole_by_part.get(name, name) for name in self.chain)
        regions = [
            DEFAULT.region(name) if name in self.parts else self.region(name) for name in names
        ]
        on_rungs = [replace(region, rung=rung) for rung, region in enumerate(regions)]
        return Vocabulary((*on_rungs, *(self.region(name) for name in self.side_regions)))

    @cached_property
    def whole_starts(self) -> tuple[int, ...]:
        """The first class of each class of `whole`, (k',): classes from there to the next one's are
        its parts, or itself, so that `np.add.reduceat` sums probabilities (..., k) to (..., k')."""
        first_names = [self.parts.get(name, (name,))[0] for name in self.whole.classes]
        return tuple(self.classes.index(name) for name in first_names)

    @cached_property
    def part_names(self) -> tuple[str, ...]:
        """Its classes that are parts of a region of `whole`, feet to head."""
        return tuple(self.classes[column] for column in self.part_columns)

    def in_parts(self, wholes: Collection[str]) -> Vocabulary:
        """The same with its parts in the place of each of these regions, names of PARTS."""
        if not wholes:
            return self
        regions: list[Region] = []
        for region in self._chain_regions:
            if region.name in wholes:
                regions += _REGIONS_BY_WHOLE[region.name]
            else:
                regions.append(region)
        on_rungs = [replace(region, rung=rung) for rung, region in enumerate(regions)]
        return Vocabulary((*on_rungs, *(self.region(name) for name in self.side_regions)))

    def part_vocabulary(self, whole: str) -> Vocabulary:
        """The parts of one of its regions, as a chain."""
        return Vocabulary(
            tuple(
                replace(self.region(part), rung=rung) for rung, part in enumerate(self.parts[whole])
            )
        )

    @cached_property
    def label_names(self) -> tuple[str, ...]:
        """What labels may name, in the order in which one excludes another: the classes, and each
        whole after its parts."""
        names = []
        last_part_to_whole = {parts[-1]: whole for whole, parts in self.parts.items()}
        for name in self.classes:
            names.append(name)
            if name in last_part_to_whole:
                names.append(last_part_to_whole[name])
        return tuple(names)

    @cached_property
    def answer_names(self) -> tuple[str, ...]:
        """What is answered of, in the order of pages: the classes of `whole`, each region followed
        by its parts."""
        return tuple(
            name for region in self.whole.classes for name in (region, *self.parts.get(region, ()))
        )

    @cached_property
    def labels_by_class(self) -> tuple[tuple[str, ...], ...]:
        """Of each class, the labels that show it: its name, and of a part that of its whole."""
        return tuple(
            (name, *(whole for whole, parts in self.parts.items() if name in parts))
            for name in self.classes
        )

    @cached_property
    def rungs_by_label(self) -> Mapping[str, frozenset[int]]:
        """The rungs of each name that a label of the chain may have: of a whole, those of its parts."""
        labels_by_rung = self.labels_by_class[: len(self.chain)]
        return {
            name: frozenset(rung for rung, labels in enumerate(labels_by_rung) if name in labels)
            for name in self.label_names
            if any(name in labels for labels in labels_by_rung)
        }

    @cached_property
    def part_columns(self) -> tuple[int, ...]:
        """The classes that are parts of a region of `whole`, ascending."""
        part_names = {part for parts in self.parts.values() for part in parts}
        return tuple(index for index, name in enumerate(self.classes) if name in part_names)

    @property
    def term_by_codes(self) -> Mapping[frozenset[str], Term]:
        """The concepts for several of its regions together, by the set of their SNOMED CT ids."""
        if not self.parts:
            return TERM_BY_CODES
        return {**TERM_BY_CODES, **PART_TERM_BY_CODES}

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The k class names in the order of every probability array (s, k)."""
        return (*self.chain, *self.side_regions, NONE)

    def term(self, names: Iterable[str]) -> Term | None:
        """The single concept for all these regions together; None if there is none, or it has no
        codes."""
        distinct_names = frozenset(names)
        regions = [region for region in self.regions if region.name in distinct_names]
        if len(distinct_names) == 1:
            region = next(iter(regions), None)
            if region is None or not region.body_part:
                return None
            return region.term
        codes = frozenset(region.sct for region in regions)
        if len(codes) < len(distinct_names):
            return None
        return self.term_by_codes.get(codes)

    def concept(self, name: str) -> Term | None:
        """The concept of one region, for reports that need no Body Part Examined; None without a
        SNOMED CT code."""
        return self.region(name).term

    def region(self, name: str) -> Region:
        """The region of that name; StopIteration without one."""
        return next(region for region in self.regions if region.name == name)

    def regions_of_code(self, code: str) -> frozenset[str]:
        """The regions of a SNOMED CT concept, of one region or of several together; empty for
        another."""
        codes = frozenset({code})
        for codes_together, term in self.term_by_codes.items():
            if term.sct == code:
                codes = codes_together
        return frozenset(
            region.name for region in self.regions if region.sct and region.sct in codes
        )

    @property
    def faces(self) -> tuple[str, ...]:
        """The classes whose slices may show a face: regions coded as head, or with a word of FACE_WORDS
        in their names or synonyms; if there are none, all classes, including none."""
        head_regions = tuple(
            region.name
            for region in self.regions
            if region.sct == HEAD or FACE_WORDS & {*" ".join(region.words).split()}
        )
        return head_regions or self.classes

    def colour(self, name: str) -> str:
        """The figure colour of a class, or of a region whose parts are classes, "#rrggbb"; for none
        a dark grey: a light one looks like spine to a reader without green cones."""
        regions = (*self.regions, *self.whole.regions)
        return next((region.colour for region in regions if region.name == name), "#585858")


# fmt: off
FACE_WORDS = frozenset({
    "HEAD", "BRAIN", "SKULL", "NECK", "HEADNECK", "FACE", "FACIAL", "ORBIT", "ORBITS", "EYE",
    "EYES", "NOSE", "SINUS", "SINUSES", "JAW", "MANDIBLE", "MAXILLA", "MOUTH", "TEETH", "EAR",
    "EARS", "TMJ", "CRANIUM", "NASOPHARYNX",
})
# fmt: on
"""Words in the name of a region whose images may show a face."""


# fmt: off
ELSEWHERE = frozenset({
    "ACJOINT", "ANKLE", "ARM", "AXILLA", "CALCANEUS", "CLAVICLE", "ELBOW", "EXTREMITY", "FINGER",
    "FOOT", "FOREARM", "HAND", "HUMERUS", "RADIUS", "RADIUSULNA", "SCAPULA", "SHOULDER", "THUMB",
    "TOE", "ULNA", "UPPEREXTREMITY", "UPPERLIMB", "WRIST",
})
# fmt: on
"""Terms of DICOM's Body Part Examined for parts that belong to no region here, or are too
peripheral to show one."""


# Okabe & Ito's palette (2008): distinguishable for readers with any common colour-vision
# deficiency.
DEFAULT = Vocabulary(
    (
        Region(
            "legs",
            rung=0,
            colour="#0072b2",
            sct=LEGS,
            body_part="LOWERLIMB",
            synonyms=(
                *("LEG", "LEGS", "LOWER LIMB", "LOWERLIMB", "LOWER EXTREMITY", "LOWEREXTREMITY"),
                *("THIGH", "CALF", "KNEE", "FEMUR", "TIBIA"),
            ),
            meaning="Lower limb",
        ),
        Region(
            "pelvis",
            rung=1,
            colour="#009e73",
            sct=PELVIS,
            body_part="PELVIS",
            synonyms=("PELVIS", "HIP", "HIPS", "PROSTATE", "BLADDER", "RECTUM", "UTERUS"),
            level="lumbar",
            meaning="Pelvis",
        ),
        Region(
            "abdomen",
            rung=2,
            colour="#f0e442",
            sct=ABDOMEN,
            body_part="ABDOMEN",
            synonyms=("ABDOMEN", "ABD", "LIVER", "KIDNEY", "PANCREAS", "SPLEEN"),
            level="lumbar",
            meaning="Abdomen",
        ),
        Region(
            "chest",
            rung=3,
            colour="#e69f00",
            sct=CHEST,
            body_part="CHEST",
            synonyms=("CHEST", "THORAX", "BREAST", "HEART", "CARDIAC", "LUNG"),
            level="thoracic",
            meaning="Chest",
        ),
        Region(
            "head",
            rung=4,
            colour="#d55e00",
            sct=HEAD,
            body_part="HEAD",
            synonyms=("HEAD", "BRAIN", "SKULL", "NECK", "HEADNECK"),
            level="cervical",
            meaning="Head",
        ),
        Region(
            "spine",
            rung=None,
            colour="#cc79a7",
            sct="421060004",
            body_part="SPINE",
            synonyms=(
                *("SPINE", "CSPINE", "TSPINE", "LSPINE", "LSSPINE", "CTSPINE", "TLSPINE"),
                "LUMBAR SPINE",
            ),
            meaning="Spine",
        ),
    )
)

_REGIONS_BY_WHOLE = {
    "legs": (
        Region(
            "foot",
            rung=None,
            colour="#00305a",
            sct=FOOT,
            body_part="FOOT",
            synonyms=(
                *("FOOT", "FEET", "ANKLE", "ANKLES", "HEEL", "CALCANEUS", "TALUS", "TOE", "TOES"),
                *("FOREFOOT", "MIDFOOT", "HINDFOOT", "ACHILLES"),
            ),
            meaning="Foot",
        ),
        Region(
            "lower leg",
            rung=None,
            colour="#0072b2",
            sct=LOWER_LEG,
            body_part="LEG",
            synonyms=("LOWERLEG", "CALF", "CALVES", "SHIN", "SHINS", "TIBIA", "FIBULA"),
            meaning="Lower leg",
        ),
        Region(
            "knee",
            rung=None,
            colour="#9fd8ff",
            sct=KNEE,
            body_part="KNEE",
            synonyms=("KNEE", "KNEES", "PATELLA"),
            meaning="Knee",
        ),
        Region(
            "thigh",
            rung=None,
            colour="#3fa0e0",
            sct=THIGH,
            body_part="THIGH",
            synonyms=("THIGH", "THIGHS", "FEMUR", "FEMURS"),
            meaning="Thigh",
        ),
    ),
    "head": (
        Region(
            "neck",
            rung=None,
            colour="#ffb59a",
            sct=NECK,
            body_part="NECK",
            synonyms=("NECK", "LARYNX", "THYROID"),
            level="cervical",
            meaning="Neck",
        ),
        Region(
            "skull",
            rung=None,
            colour="#d55e00",
            sct=HEAD,
            body_part="HEAD",
            synonyms=("SKULL", "HEAD", "BRAIN", "CRANIUM"),
            level="cervical",
            meaning="Head",
        ),
    ),
}

PARTS = {
    whole: tuple(region.name for region in part_regions)
    for whole, part_regions in _REGIONS_BY_WHOLE.items()
}
"""The names of the parts of regions of DEFAULT, feet to head.  The skull is what DICOM calls head: a
head that has no parts includes the neck."""

WHOLE_BY_PART = {part: whole for whole, parts in PARTS.items() for part in parts}
"""The region of DEFAULT that each part belongs to."""


def parts_beside(name: str, class_names: Sequence[str]) -> tuple[str, ...]:
    """The parts of the region that a class is a part of, with itself; itself alone unless all of
    them are among the classes, side by side."""
    for start, stop in find_part_groups(class_names):
        if name in class_names[start:stop]:
            return tuple(class_names[start:stop])
    return (name,)


def find_part_groups(class_names: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """The parts of each region that the classes have in parts, side by side: the index of the first,
    and that after the last."""
    groups = []
    for parts in PARTS.values():
        if parts[0] in class_names:
            start = list(class_names).index(parts[0])
            if tuple(class_names[start : start + len(parts)]) == parts:
                groups.append((start, start + len(parts)))
    return tuple(groups)


NINE = DEFAULT.in_parts(PARTS)
"""Nine regions: those of DEFAULT, with parts of the legs and of the head; and the spine."""

BUILT_IN = {"default": DEFAULT, "nine": NINE}
"""The vocabularies that a configuration may name."""


def simulated_chain(vocabulary: Vocabulary) -> tuple[str, ...]:
    """The regions that simulated people are labelled with, feet to head: those of DEFAULT, and in
    the place of each the parts that the vocabulary has for it."""
    return tuple(name for whole in DEFAULT.chain for name in vocabulary.parts.get(whole, (whole,)))


LANDMARKS = {
    ("foot", "lower leg"): "3 cm above the dome of the talus",
    ("lower leg", "knee"): "the lower end of the tibial tuberosity",
    ("knee", "thigh"): "the upper end of the patella of a straight leg; of a bent one, at that "
    "height along the femur",
    ("thigh", "pelvis"): "the lower end of the ischium",
    ("chest", "neck"): "the lung apex",
    ("neck", "skull"): "the foramen magnum",
    ("legs", "pelvis"): "the lower end of the ischium",
    ("pelvis", "abdomen"): "the top of the iliac crest",
    ("abdomen", "chest"): "the top of the liver dome",
    ("chest", "head"): "the lung apex, so that the neck counts as head",
}
"""Where one region of DEFAULT or NINE ends and the next begins: labels must follow this to be
comparable."""

MEANINGS = {
    "spine": "narrow cut-outs of the spine, not every volume in which it is seen; may overlap the "
    "others",
}
"""What is labelled as a side region of the default vocabulary."""
