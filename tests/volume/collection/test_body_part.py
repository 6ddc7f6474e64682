"""Words of headers: real shorthand for one region or several, and what is not understood."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fovnet.records import read_tsv
from fovnet.regions import DEFAULT, NINE, PARTS, WHOLE_BY_PART, Vocabulary
from fovnet.volume.collection.body_part import (
    PART_WORD_TABLE,
    WORD_TABLE,
    BodyPartReading,
    find_regions_of_text,
    read_body_part,
)

ABDOMEN_PELVIS = [
    "ABD/PEL",
    "ABD_PELV",
    "ABD PEL",
    "ABD PELV",
    "ABD-PELVIS",
    "ABD&PELVIS",
    "ABDPEL",
    "ABDPELV",
    "ABDPELVIS",
    "ABDOMEN_PELVIS ",
    "ABDOMEN+PELVIS",
    "Abdomen and Pelvis",
    "ABDOMEN/PELVIC",
    "ABDO PELVIS",
    "ABDO/PELV",
    "PELVIS/ABDOMEN",
    "PET_ABDOMEN_PEL",
    "ABDOMEN & PELVI",
    "ABDOMENPELVIS",
    "ABDOMINAL PELVIC",
    "['ABDOMEN', 'PELVIS']",
    "MR ABD PELVIS W",
    "ABD.PELV.",
    "Bauch-Becken",
    "ENTEROGRAPHY",
    "KUB",
]
CHEST_ABDOMEN_PELVIS = [
    "CAP",
    "TAP",
    "C/A/P",
    "T-A-P",
    "C A P",
    "CHEST_TO_PELVIS",
    "CHEST/ABD/PEL",
    "CHESTABDPELVIS",
    "CHESTABDPELV",
    "CHEST ABD PELVIS",
    "CHEST,ABDOMEN,PELVIS",
    "THORAX ABDOMEN PELVIS",
    "THORAXABDPELVIS",
    "CHEST ABDOMEN PE",
    "TRUNK",
    "TORSO",
]
CHEST_ABDOMEN = [
    "CHEST/ABD",
    "CHESTABDOMEN",
    "THORAXABD",
    "CHEST_ABDOMEN",
    "THOR ABD",
    "THORACOABDOMINAL",
]
OTHERS = {
    "head": [
        "HEAD_NECK",
        "HEADANDNECK",
        "Head-and-Neck",
        "HEAD/NECK",
        "BRAIN W/WO",
        "IAC",
        "ORBITS",
        "SKULLBASE",
        "BRAINNECK",
        "HEADFACE",
        "SELLA",
        "TMJ",
        "SOFT TISSUE NECK",
        "Kopf",
        "CRANE",
        "CEREBRO",
        "PITUITARY",
        "CAROTIDS",
    ],
    "chest": [
        "CHEST (THORAX) ",
        "THX",
        "BREASTS",
        "BILATERAL BREAST",
        "MEDIASTINUM",
        "CORONARY",
        "Torax",
        "RIBS",
    ],
    "abdomen": ["ABDO", "UPPER ABDOMEN", "MRCP", "RENAL", "LIVER DYNAMIC", "ADRENALS", "Oberbauch"],
    "pelvis": [
        "PELV",
        "PELVIC",
        "PEL",
        "FEMALE PELVIS",
        "SI JOINTS",
        "CERVIX",
        "Becken",
        "HIPS BILAT",
    ],
    "legs": [
        "LOWER EXT",
        "LOWER_EXTREMITY",
        "LT KNEE",
        "KNEES",
        "UPPER LEG",
        "LOWER LEG R",
        "TIB/FIB",
        "L CALF",
        "Oberschenkel",
        "GENOU",
    ],
    "spine": [
        "C-SPINE",
        "L SPINE",
        "T_SPINE",
        "C/T/L SPINE",
        "LUMBO-SACRAL SP",
        "LUMBAR",
        "THORACIC SPINE",
        "CERVICAL SPINE",
        "WHOLE SPINE",
        "LWS",
        "RACHIS",
        "SPINAL CORD",
        "DORSAL SPINE",
    ],
    "chest head": ["NECKCHEST", "HEAD CHEST", "NECK/CHEST"],
    "pelvis abdomen chest head": ["NECKCHESTABDPELV", "HEAD_TO_PELVIS"],
    "legs pelvis": ["PELVISLOWEXTREMT", "PELVIS/LOWER EXT", "HIP TO ANKLE"],
    "legs pelvis abdomen": ["RUNOFF", "ABD RUNOFF"],
    "legs pelvis abdomen chest head": ["WHOLE BODY", "WHOLE_BODY", "TOTAL BODY", "HEAD TO TOE"],
}
SPELLED = [
    *((text, "pelvis abdomen") for text in ABDOMEN_PELVIS),
    *((text, "pelvis abdomen chest") for text in CHEST_ABDOMEN_PELVIS),
    *((text, "abdomen chest") for text in CHEST_ABDOMEN),
    *((text, regions) for regions, texts in OTHERS.items() for text in texts),
]


@pytest.mark.parametrize(("text", "regions"), SPELLED)
def test_shorthand_is_read_whole(text, regions):
    assert read_body_part(text) == BodyPartReading(tuple(regions.split()), is_understood=True)
    assert read_body_part(text.lower()) == read_body_part(text)


SHORT = {
    "pelvis": ["PEL", "PELV", "PELVIS"],
    "abdomen": ["ABD", "ABDO", "ABDOMEN"],
    "chest": ["CHEST", "THORAX"],
    "head": ["HEAD", "NECK"],
    "spine": ["SPINE", "CSPINE"],
}
PAIRS = [
    (regions, words)
    for regions in permutations(SHORT, 2)
    for words in product(*(SHORT[name] for name in regions))
]


@pytest.mark.parametrize("separator", ["/", "_", " ", "-", "+", "&", ", ", " AND ", "^", "\\"])
def test_two_regions_are_read_however_they_are_separated(separator):
    for regions, words in PAIRS:
        text = separator.join(words)
        wanted = tuple(name for name in DEFAULT.classes if name in regions)
        rungs = [DEFAULT.chain.index(name) for name in regions if name in DEFAULT.chain]
        may_be_range = (
            separator == "-" and max(rungs) - min(rungs) > 1
        )  # HEAD-PELVIS, not HEAD-CHEST
        assert read_body_part(text) == BodyPartReading(wanted, is_understood=not may_be_range), text


RANGES = {
    "legs pelvis abdomen chest head": [
        "SKULL TO THIGH",
        "EYES TO THIGHS",
        "SKULL BASE TO MID THIGH",
        "VERTEX TO TOES",
        "THIGH TO SKULL",
        "HEAD THRU FEET",
        "KOPF BIS KNIE",
        "BRAIN - LEGS",
        "SKULL TO MID THI",
        "HEAD \u2013 FOOT",
    ],
    "legs pelvis abdomen chest": [
        "CHEST TO KNEE",
        "CHEST_TO_LT_KNEE",
        "THORAX - THIGH",
        "SHOULDER TO KNEE",
    ],
    "legs pelvis abdomen": [
        "ABD TO KNEES",
        "ABDOMEN THROUGH FEET",
        "KNEES TO LIVER",
        "ABD - ANKLE",
    ],
    "legs pelvis": ["PELVIS TO FOOT", "HIP TO TOES", "PELVIS - FEET", "THIGH TO HIP"],
    "pelvis abdomen chest head": ["NECK UNTIL PELVIS", "BRAIN TO BLADDER W CONTRAST"],
    "abdomen chest head": ["NECK TO ABDOMEN", "HALS BIS BAUCH", "LIVER TO NECK", "HEAD - ABD"],
    "pelvis abdomen chest": ["DIAPHRAGM TO SYMPHYSIS", "LUNG TO RECTUM", "CHEST - PELVIS"],
    "pelvis abdomen chest head spine": ["NECK TO SACRUM"],
    "head": ["HEAD TO NECK", "BRAIN - MRI", "BRAIN - NECK"],
    "spine": ["CSPINE TO LSPINE", "C - SPINE", "L-SPINE"],
}
ORGAN_PARTS = {
    "legs pelvis": ["NECK OF FEMUR", "FEMORAL NECK", "HEAD OF FEMUR", "FEMORAL HEAD"],
    "abdomen": ["HEAD OF PANCREAS", "PANCREATIC HEAD"],
    "pelvis": ["NECK OF BLADDER", "BLADDER NECK"],
    "head": ["FLOOR OF MOUTH", "BASE OF SKULL", "MRI OF BRAIN"],
}


@pytest.mark.parametrize(
    ("text", "regions"),
    [
        (text, regions)
        for table in (RANGES, ORGAN_PARTS)
        for regions in table
        for text in table[regions]
    ],
)
def test_a_range_means_all_between_and_part_of_an_organ_the_organ(text, regions):
    assert read_body_part(text) == BodyPartReading(tuple(regions.split()), is_understood=True)
    assert read_body_part(text.lower()) == read_body_part(text)


@pytest.mark.parametrize("word", [" TO ", " thru ", "_TO_", " - ", " \u2014 ", " BIS "])
def test_a_range_between_any_two_regions_of_the_chain_means_that_stretch_of_it(word):
    for (low, first), (high, last) in product(enumerate(DEFAULT.chain), repeat=2):
        wanted = DEFAULT.chain[min(low, high) : max(low, high) + 1]
        assert read_body_part(f"{first}{word}{last}") == BodyPartReading(wanted, is_understood=True)


@pytest.mark.parametrize(
    ("text", "regions"),
    [
        ("NECK OF LEFT FEMUR", ("legs",)),
        ("HEAD OF HUMERUS", ()),
        ("HEAD AND NECK OF RADIUS", ()),
        ("BODY OF PANCREAS", ("abdomen",)),
        ("NECK OF UTERUS", ("pelvis",)),
        ("NECK OF KIDNEY", ("abdomen",)),
        ("FETAL BRAIN", None),
        ("FETUS", None),
        ("FOETAL HEART", None),
        ("BRAIN (FOETUS)", None),
        ("CHEST-THIGH", ("legs", "chest")),
        ("HEAD-ABD-PELVIS", ("pelvis", "abdomen", "head")),
        ("ORBIT TO MEATUS", ("head",)),
        ("NECK TO", ("head",)),
        ("TO KNEE", ("legs",)),
        ("NECK TO LSPINE", ("head", "spine")),
        ("PELVIS TO ELBOW", ("pelvis",)),
        ("SKULLTOTHIGH", None),
        ("HIPPEL", None),
        ("Cappel", None),
        ("ARMHEAD", None),
        ("NECKTHRUPELVIS", None),
    ],
)
def test_what_may_be_read_in_several_ways_is_not_understood_as_a_whole(text, regions):
    assert read_body_part(text) == BodyPartReading(regions, is_understood=False)


@pytest.mark.parametrize(
    ("text", "regions"),
    [
        ("ABD XYZ", ("abdomen",)),
        ("Jane Doe head", ("head",)),
        ("CHEST ABDOMEN P", ("abdomen", "chest")),
        ("TH CT CHEST WO ", ("chest",)),
        ("XYZ", None),
        ("A/P", None),
        ("AP PORTABLE", None),
    ],
)
def test_a_word_that_is_not_understood_is_told(text, regions):
    assert read_body_part(text) == BodyPartReading(regions, is_understood=False)


@pytest.mark.parametrize(
    ("text", "regions"),
    [
        ("", None),
        ("MRI 3", None),
        ("ROUTINE", None),
        ("SHOULDER", ()),
        ("RT SHOULDER W/O", ()),
        ("UPPER EXTREMITY", ()),
        ("HUMERUS", ()),
        ("FEET", ()),
    ],
)
def test_words_that_name_no_region_are_understood(text, regions):
    assert read_body_part(text) == BodyPartReading(regions, is_understood=True)


def test_a_vocabulary_of_ones_own_gives_the_words_of_its_codes_and_its_own():
    """A region of another code has only the words that it was given; these win."""
    own = Vocabulary(
        tuple(
            replace(region, name="trunk", sct="22943007", body_part="", synonyms=("TORSO",))
            if region.name == "chest"
            else replace(region, name=f"my {region.name}")
            for region in DEFAULT.regions
        )
    )
    assert find_regions_of_text("TORSO", own) == ("trunk",)
    assert find_regions_of_text("PELV", own) == ("my pelvis",)
    assert find_regions_of_text("THX", own) is None
    assert find_regions_of_text("CAP", own) == ("my pelvis", "my abdomen")
    assert find_regions_of_text("HEAD TO CALF", own) == tuple(
        reversed(("my head", "trunk", "my abdomen", "my pelvis", "my legs"))
    )


def test_a_region_of_ones_own_may_have_the_name_of_an_end_of_ranges_or_of_a_fetus():
    own = Vocabulary(
        tuple(
            replace(region, synonyms=(*region.synonyms, word))
            for region, word in zip(
                DEFAULT.regions, ("FEET", "FETUS", "A", "B", "VERTEX", "D"), strict=True
            )
        )
    )
    assert read_body_part("FEET", own) == BodyPartReading(own.chain[:1], is_understood=True)
    assert read_body_part("FETUS", own) == BodyPartReading(own.chain[1:2], is_understood=True)


@pytest.mark.parametrize(
    ("text", "regions"),
    [
        ("LEG", ("lower leg",)),
        ("LEGS", PARTS["legs"]),
        ("FOOT", ("foot",)),
        ("Left ankle", ("foot",)),
        ("CALF", ("lower leg",)),
        ("RT KNEE W/O", ("knee",)),
        ("Oberschenkel", ("thigh",)),
        ("NECK", ("neck",)),
        ("BRAIN", ("skull",)),
        ("HEAD_NECK", ("neck", "skull")),
        ("CAROTIDS", ("neck",)),
        ("KNEE TO ANKLE", ("foot", "lower leg", "knee")),
        ("NECK - ABDOMEN", ("abdomen", "chest", "neck")),
        ("NECK OF FEMUR", ("thigh", "pelvis")),
        ("WRIST", ()),
    ],
)
def test_with_parts_a_word_means_the_part_that_it_names(text, regions):
    """Summed, the parts are what the word means without them, or it means a foot, which is in no
    region there."""
    assert find_regions_of_text(text, NINE) == regions
    wholes = {WHOLE_BY_PART.get(name, name) for name in regions if name != "foot"}
    assert wholes <= set(find_regions_of_text(text) or ())


def test_every_word_of_a_part_is_a_word_and_names_parts_of_what_it_means():
    rows = read_tsv(PART_WORD_TABLE)
    regions_by_word = {row["word"]: row["regions"].split() for row in read_tsv(WORD_TABLE)}
    assert [row["word"] for row in rows] == sorted({row["word"] for row in rows})
    for row in rows:
        parts = row["parts"].split(", ")
        assert {WHOLE_BY_PART[part] for part in parts} <= set(regions_by_word[row["word"]])


def test_every_word_of_the_table_is_one_word_and_means_what_its_row_says():
    rows = read_tsv(WORD_TABLE)
    words = [row["word"] for row in rows]
    assert words == sorted(set(words)) and all(word.isascii() and word.isalpha() for word in words)
    for row in rows:
        names = row["regions"].split()
        wanted = tuple(name for name in DEFAULT.classes if name in names) if names else None
        assert read_body_part(row["word"]) == BodyPartReading(wanted, is_understood=True)


@given(st.text(max_size=30))
def test_any_text_is_read_and_only_regions_come_back(text):
    reading = read_body_part(text)
    assert set(reading.regions or ()) <= set(DEFAULT.classes[:-1])
