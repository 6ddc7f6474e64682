"""One simulated person: what varies between people, and how the written anatomy is adapted to them.

The anatomy is written once, for a person of 1750 mm, z = 0 at the soles. A person is a `Morph`
(heights stretched piecewise, widths scaled, the head turned, everything gently bent sideways) and a
set of traits with which the anatomy is built. The bend moves points within a horizontal plane only,
so a landmark stays exactly at its height.

Source of the proportions: Drillis & Contini (1966), *Body Segment Parameters*, as in Winter (2009),
figure 4.1; statures of adults as in NCD-RisC (2016), eLife 5:e13410 (men 176 ± 7 cm, women 163 ±
6.5 cm, a mixed northern and western average).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from fovnet.phantom.person.borders import Borders, clip_normal, draw_borders
from fovnet.phantom.person.build import Build, draw_build
from fovnet.phantom.person.cross_sections import draw_cross_sections
from fovnet.phantom.person.fat_distribution import Figure, draw_figure
from fovnet.phantom.person.morph import ANCHORS_MM, Morph
from fovnet.phantom.person.organ_heights import OrganHeights, draw_organ_heights
from fovnet.phantom.person.streams import Stream
from fovnet.phantom.person.swelling import draw_swelling

STATURE_MM = 1750.0
"""Height of the person the anatomy is written for."""

# wavelength, largest amplitude along an axis
WAVES_MM = ((620, 3.0), (480, 2.5), (340, 2.0), (230, 1.4), (150, 0.8), (95, 0.5))
# small enough, together with WAVES_MM, never to fold the body
DEFORMATION_MM = ((150, 3.5), (95, 2.5), (62, 1.6), (42, 1.0))


@dataclass(frozen=True)
class Person:
    """A simulated person; every length in mm of the written anatomy unless stated otherwise.

    sex                   "female" or "male"
    seed                  two numbers that fix every detail
    morph                 written anatomy to person
    arm_posture           "beside", "raised" or "folded"
    age                   in years
    fat_mm                subcutaneous fat at the waist
    belly_mm              protrusion of the abdomen
    muscle_factor         muscle relative to the average, about 0.85 to 1.15
    breath_drop_mm        how far the breath puts the diaphragm below its written height
    ankle_offset_mm       lateral offset of each leg at the ankle
    is_prone              whether she is prone, with hanging breasts
    marbled_share         share of muscle streaked with fat, 0 to about 0.3
    missing_parts         what the person lacks or has replaced, names of MISSING_PROBABILITIES
    bowel_loop_count      short loops of small bowel
    bowel_fullness        of these loops: 1 is full
    table_mm              how far behind the middle of the trunk the table is; infinite if nothing is
                          flattened
    has_own_breasts       whether a woman's breasts are individually shaped, rather than of one similar
                          shape
    figure                distribution of fat, and how round or square the trunk is across
    build                 where there is more muscle, and where less
    organ_heights         of kidneys, liver, colon and ribs
    borders               heights of shoulders, lungs, crests and diaphragm
    has_open_wall         whether the muscle of the abdominal wall ends between straight and flat
                          muscles and at the loin
    is_placed_exactly     whether fields of view, labels and muscles are placed exactly; recipes before
                          16 were slightly off (`features`: "true places")
    """

    sex: str
    seed: tuple[int, int]
    morph: Morph
    arm_posture: str
    age: float
    fat_mm: float
    belly_mm: float
    muscle_factor: float
    breath_drop_mm: float
    ankle_offset_mm: float
    is_prone: bool = False
    marbled_share: float = 0.05
    missing_parts: frozenset[str] = frozenset()
    bowel_loop_count: int = 70
    bowel_fullness: float = 1.0
    table_mm: float = float("inf")
    has_own_breasts: bool = False
    figure: Figure = Figure()  # noqa: RUF009  (frozen)
    build: Build = Build()  # noqa: RUF009  (frozen)
    organ_heights: OrganHeights = OrganHeights()  # noqa: RUF009  (frozen)
    borders: Borders = Borders()  # noqa: RUF009  (frozen)
    has_open_wall: bool = False
    is_placed_exactly: bool = False

    @property
    def is_female(self) -> bool:
        """Whether the anatomy is a woman's."""
        return self.sex == "female"

    @property
    def diaphragm_drop_mm(self) -> float:
        """How far the diaphragm is below its written height, by the breath and by the person's own."""
        return self.breath_drop_mm - self.borders.diaphragm_rise_mm

    def leg_offset_mm(self, z: float) -> float:
        """Lateral offset of a leg at a written height: 0 at the hip, `ankle_offset_mm` at the ankle, more
        with fat thighs."""
        return (self.ankle_offset_mm + 0.35 * max(0.0, self.fat_mm - 10)) * float(
            np.clip((900 - z) / 820, 0, 1)
        )

    def generator(self, stream: int) -> np.random.Generator:
        """The random generator of a Stream of this person, the same at every call."""
        return np.random.default_rng([*self.seed, stream])

    def side_generator(self, left_stream: int, side: int) -> np.random.Generator:
        """As `generator`, for one side of the body: that stream for the left one (-1), the next
        for the right one (1)."""
        if side > 0:
            return self.generator(left_stream + 1)
        return self.generator(left_stream)


MISSING_PROBABILITIES = {
    "right kidney": 0.015,
    "left kidney": 0.015,
    "uterus": 0.15,
    "prostate": 0.06,
    "gall bladder": 0.12,
    "spleen": 0.02,
    "right hip": 0.05,
    "left hip": 0.05,
    "natural breasts": 0.07,
    "bowel gas": 0.3,
}
"""Probability that a person lacks it; for a hip, that it is a metal one, and for the breasts, that
they have implants.

Rounded from national registries of adults past sixty (hips, uterus, gall bladder), and higher where
it is rare but changes the image much.
"""


class Averages(NamedTuple):
    """What people of one sex are on average; lengths in mm, factors relative to the written
    anatomy."""

    sex: str
    stature_mm: float
    stature_sd_mm: float
    fat_mm: float
    belly_mm: float
    muscle_factor: float
    trunk_width_factor: float
    head_width_factor: float


WOMEN_AVERAGES = Averages("female", 1630, 65, 15, 3, 0.94, 0.97, 0.98)
MEN_AVERAGES = Averages("male", 1760, 70, 11, 9, 1.02, 1.0, 1.0)

BACK_ON_TABLE_MM = 1060.0  # written height of the part of the back that rests on the table


def sample_person(seed: tuple[int, int], without: frozenset[str] = frozenset()) -> Person:
    """The person of a seed (collection seed, subject number): the same person in a collection of
    any size.

    `without` names features of `features.ANATOMY` to leave out; everything else about the person
    stays the same.
    """
    # in this order
    change_by_feature: dict[str, Callable[[Person], Person]] = {
        "varied bodies": _with_varied_body,
        "masses in legs": _with_swelling,
        "deformation": _with_deformation,
        # lean trunks may be flat in people who vary in build, too
        "fat in places": partial(_with_figure, may_be_flat="builds" not in without),
        "builds": _with_build,
        "cross-sections": _with_cross_sections,
        "organs high and low": _with_organ_heights,
        "kinds of breasts": _with_own_breasts,
        "borders as measured": _with_borders,
        "raised arms": _with_raised_arms,
    }
    person = _sample_plain_person(seed, without)
    for feature, change_person in change_by_feature.items():
        if feature not in without:
            person = change_person(person)
    return person


def _sample_plain_person(seed: tuple[int, int], without: frozenset[str]) -> Person:
    """The person of a seed before any feature changes the body."""
    rng = np.random.default_rng(seed)
    averages = MEN_AVERAGES
    if rng.random() < 0.5:
        averages = WOMEN_AVERAGES
    stature_mm = clip_normal(rng, averages.stature_mm, averages.stature_sd_mm, 1470, 1970)
    fat_mm = float(np.clip(rng.lognormal(np.log(averages.fat_mm), 0.5), 4, 42))
    belly_mm = 0.7 * (fat_mm - 10) + rng.normal(averages.belly_mm, 7)
    arm_posture = str(rng.choice(["beside", "raised", "folded"], p=[0.68, 0.2, 0.12]))
    return Person(
        sex=averages.sex,
        seed=seed,
        morph=_sample_morph(rng, averages, stature_mm),
        arm_posture=arm_posture,
        age=rng.uniform(18, 85),
        fat_mm=fat_mm,
        belly_mm=float(np.clip(belly_mm, -8, 45)),
        muscle_factor=clip_normal(rng, averages.muscle_factor, 0.05, 0.82, 1.15),
        breath_drop_mm=rng.uniform(-10, 18),
        ankle_offset_mm=rng.uniform(-6, 28),
        has_open_wall="open walls" not in without,
        is_placed_exactly="true places" not in without,
    )


def _with_varied_body(person: Person) -> Person:
    """The person with uncommon traits, a natural filling of the bowel, flattened by the table, and
    with bent knees."""
    uncommon_person = _with_uncommon_traits(person)
    return _with_bent_knees(_with_table(_with_bowel_filling(uncommon_person)))


def _with_build(person: Person) -> Person:
    """The person with more muscle in some places and less in others."""
    return replace(person, build=draw_build(person.generator(Stream.BUILD)))


def _with_organ_heights(person: Person) -> Person:
    """The person with kidneys, liver, colon and lowest ribs at heights of their own."""
    return replace(person, organ_heights=draw_organ_heights(person.generator(Stream.ORGAN_HEIGHTS)))


def _with_borders(person: Person) -> Person:
    """The person with the shoulders of someone who lies, and borders that vary as they do between
    people."""
    borders, ischium_rise_mm = draw_borders(
        person.generator(Stream.BORDERS), is_female=person.is_female
    )
    morph = replace(person.morph, ischium_rise_mm=ischium_rise_mm)
    return replace(person, borders=borders, morph=morph)


RAISED_SHARE = 6 / 7
"""Share of prone women with arms above the head: 13 of 13 measured, but some coils are for arms beside
the body."""


def _with_raised_arms(person: Person) -> Person:
    """The person, if prone, mostly with the arms above the head."""
    if person.is_prone and person.generator(Stream.RAISED_ARMS).random() < RAISED_SHARE:
        return replace(person, arm_posture="raised")
    return person


def _with_cross_sections(person: Person) -> Person:
    """The person, if supine, with a trunk that is flat, round, a lens or a box at each height
    independently."""
    if person.is_prone:
        return person
    cross_sections = draw_cross_sections(person.generator(Stream.CROSS_SECTIONS))
    return replace(person, morph=replace(person.morph, cross_sections=cross_sections))


def _with_swelling(person: Person) -> Person:
    """The person with a mass in a leg, if one is drawn."""
    swelling = draw_swelling(person.generator(Stream.SWELLING), person.leg_offset_mm)
    return replace(person, morph=replace(person.morph, swelling=swelling))


PRONE_SHARE = 0.34
"""Share of prone women among varied ones: enough that most breasts in close fields of view hang."""


def _with_uncommon_traits(person: Person) -> Person:
    """The person with uncommon traits: a child (1 in 20), obese, atrophied or fatty muscle, prone,
    organs missing or replaced."""
    rng = person.generator(Stream.UNCOMMON_TRAITS)
    kind_dice = rng.random()
    first_amount, second_amount = rng.uniform(size=2).tolist()
    missing_parts = frozenset(
        part for part, probability in MISSING_PROBABILITIES.items() if rng.random() < probability
    )
    marbled_share = (
        0.04
        + 0.0025 * max(person.age - 40, 0) * rng.uniform(0.2, 1.6)
        + 0.002 * (person.fat_mm - 12)
    )
    if kind_dice < 0.05:
        return _to_child(person, first_amount, second_amount, rng)
    if kind_dice < 0.13:
        person = replace(
            person,
            fat_mm=30 + 26 * first_amount,
            belly_mm=20 + 45 * second_amount,
            ankle_offset_mm=max(person.ankle_offset_mm, 8.0),
        )
    elif kind_dice < 0.21:
        person = replace(
            person,
            muscle_factor=0.68 + 0.12 * first_amount,
            fat_mm=person.fat_mm * (0.5 + 0.8 * second_amount),
        )
    elif kind_dice < 0.29:
        # visceral, not subcutaneous fat
        person = replace(person, belly_mm=25 + 25 * first_amount, fat_mm=7 + 8 * second_amount)
    is_prone = person.is_female and rng.random() < PRONE_SHARE
    arm_posture = person.arm_posture
    if is_prone and arm_posture == "folded":
        arm_posture = "raised"
    return replace(
        person,
        marbled_share=float(np.clip(marbled_share, 0.02, 0.3)),
        missing_parts=missing_parts,
        is_prone=is_prone,
        arm_posture=arm_posture,
    )


def _to_child(
    person: Person, size_amount: float, fat_amount: float, rng: np.random.Generator
) -> Person:
    """The person as a child, from 6 years and 115 cm, with a size amount of 0, to 14 years and 148
    cm, with 1."""
    averages = MEN_AVERAGES
    if person.is_female:
        averages = WOMEN_AVERAGES
    return replace(
        person,
        morph=_sample_morph(rng, averages, 1150 + 330 * size_amount),
        age=6 + 8 * size_amount,
        fat_mm=5 + 9 * fat_amount,
        belly_mm=0.0,
        muscle_factor=0.85,
        marbled_share=0.02,
    )


OWN_BREASTS_SHARE = 0.75
"""Share of women whose breasts are individually shaped (`breast_shapes`)."""


def _with_own_breasts(person: Person) -> Person:
    """The person, if a woman, mostly with breasts of her own shape."""
    has_own_breasts = (
        person.is_female and person.generator(Stream.OWN_BREASTS).random() < OWN_BREASTS_SHARE
    )
    return replace(person, has_own_breasts=has_own_breasts)


def _with_bowel_filling(person: Person) -> Person:
    """The person with a natural filling of the bowel: mostly collapsed, a few of its loops in much
    mesenteric fat, or full.

    An empty small bowel is 1 to 2 cm across, a full one up to 3 (Gourtsoyiannis et al. (2004), Eur
    Radiol 14:1056).  Lean people have no fat around it: below a `belly_mm` of 0 they have 66 loops
    or more, 2 cm wide, above 16 mm any number.
    """
    rng = person.generator(Stream.BOWEL_FILLING)
    loop_count = int(rng.integers(24, 71))
    bowel_fullness = rng.uniform(0.5, 1.05)
    leanness = float(np.clip(1 - person.belly_mm / 16, 0, 1))
    return replace(
        person,
        bowel_loop_count=max(loop_count, round(66 * leanness)),
        bowel_fullness=max(bowel_fullness, 0.75 * leanness),
    )


def _with_table(person: Person) -> Person:
    """The person supine, buttocks and loins flattened by the table; those of a prone person stay
    round.

    The sacrum comes within 2 cm of the table, with a third to all of the fat that a standing person
    has there.
    """
    if person.is_prone:
        return person
    return replace(
        person, table_mm=108.0 + person.fat_mm * person.generator(Stream.TABLE).uniform(0.35, 1.0)
    )


BENT_SHARE = 0.75
"""Share of supine people with a cushion under the knees or a knee bent in its coil."""


def _with_bent_knees(person: Person) -> Person:
    """The person with knees bent by 5° to 30° by a cushion or a coil: up to 110 mm in front of
    straight ones."""
    bend_dice, lift_mm = (
        person.generator(Stream.BENT_KNEES).uniform((0.0, 18.0), (1.0, 110.0)).tolist()
    )
    if person.is_prone or bend_dice > BENT_SHARE:
        return person
    return replace(person, morph=replace(person.morph, knee_lift_mm=lift_mm))


def _with_figure(person: Person, may_be_flat: bool) -> Person:
    """The person with regional fat, on a body broader and flatter, or narrower and deeper; one in
    four stays plain.

    Trunks are 1.2 to 1.8 times as wide as deep; with `may_be_flat`, those of lean people 1.1 to 2 times:
    a supine lean belly is 16 to 18 cm deep and up to 32 cm wide.  With much fat behind, a person lies
    higher above the table, by a part of it.
    """
    rng = person.generator(Stream.FIGURE)
    figure = draw_figure(
        person.fat_mm, person.belly_mm, rng, is_female=person.is_female, is_prone=person.is_prone
    )
    if figure is None:
        return person
    mean_log_breadth = 0.0
    leanness = 0.0
    if not person.is_prone:
        # a large belly spreads sideways in a supine person
        fat_and_belly_mm = person.fat_mm + person.belly_mm
        mean_log_breadth = 0.04 * float(np.clip(fat_and_belly_mm / 40 - 1, 0, 1))
        if may_be_flat:
            stoutness_mm = person.fat_mm + max(person.belly_mm, 0.0)
            leanness = float(np.clip(1.5 - stoutness_mm / 30, 0, 1))
    breadth_factor = rng.lognormal(mean_log_breadth + 0.03 * leanness, 0.05 + 0.04 * leanness)
    compressed_share = rng.uniform(0.3, 0.9)
    breadth_factor = float(np.clip(breadth_factor, 0.9 - 0.05 * leanness, 1.1 + 0.1 * leanness))
    trunk_width, trunk_depth = person.morph.trunk_factors
    trunk_factors = (trunk_width * breadth_factor, trunk_depth / breadth_factor)
    _, _, back_factor = figure.trunk_factors(BACK_ON_TABLE_MM)
    higher_mm = person.fat_mm * max(back_factor - 1, 0.0) * compressed_share
    return replace(
        person,
        figure=figure,
        morph=replace(person.morph, trunk_factors=trunk_factors),
        table_mm=person.table_mm + higher_mm,
    )


def _with_deformation(person: Person) -> Person:
    """The person with the waves of DEFORMATION_MM added, three of each length; they leave heights
    unchanged."""
    rng = person.generator(Stream.DEFORMATION)
    size_factor = person.morph.trunk_factors[0] ** 0.5
    added_waves = [
        _draw_wave(rng, wavelength_mm, size_factor * amplitude_mm / np.sqrt(3))
        for wavelength_mm, amplitude_mm in DEFORMATION_MM
        for _ in range(3)
    ]
    return replace(person, morph=replace(person.morph, waves=(*person.morph.waves, *added_waves)))


def _sample_morph(rng: np.random.Generator, averages: Averages, stature_mm: float) -> Morph:
    """Proportions of a person of that sex's averages and that stature: each segment between anchors
    varies by 3 %, and heads vary less than bodies."""
    segments_mm = np.diff(ANCHORS_MM)
    stature_factor = stature_mm / STATURE_MM
    stretch_factors = stature_factor * rng.normal(1.0, 0.03, len(segments_mm))
    stretch_factors[8] = stature_factor**0.35 * rng.normal(1.0, 0.025)  # chin to vertex
    body_segments_mm = stretch_factors[1:9] * segments_mm[1:9]
    head_mm = body_segments_mm[7]
    body_segments_mm[:7] *= (stature_mm - head_mm) / body_segments_mm[:7].sum()
    person_segments_mm = np.concatenate(
        [[segments_mm[0]], body_segments_mm, [segments_mm[9] * stature_factor]]
    )
    heights_mm = np.concatenate([[0.0], np.cumsum(person_segments_mm)]) - segments_mm[0]
    trunk_width = stature_factor**0.8 * rng.normal(averages.trunk_width_factor, 0.03)
    head_width = stature_factor**0.3 * rng.normal(averages.head_width_factor, 0.025)
    waves = [
        _draw_wave(rng, wavelength_mm, amplitude_mm) for wavelength_mm, amplitude_mm in WAVES_MM
    ]
    return Morph(
        anchor_heights_mm=tuple(heights_mm.tolist()),
        trunk_factors=(trunk_width, trunk_width * rng.normal(1.0, 0.03)),
        head_factors=(head_width, head_width * rng.normal(1.0, 0.03)),
        yaw_deg=clip_normal(rng, 0, 6, -18, 18),
        waves=tuple(waves),
    )


def _draw_wave(
    rng: np.random.Generator, wavelength_mm: float, most_amplitude_mm: float
) -> tuple[float, ...]:
    """A standing wave of displacement (8,): amplitudes x, y in mm, wave numbers x, y, z in 1 / mm,
    phases."""
    amplitudes_mm = rng.uniform(-most_amplitude_mm, most_amplitude_mm, 2)
    wave_numbers = 2 * np.pi / (wavelength_mm * rng.uniform(0.8, 1.25, 3))
    phases = rng.uniform(0, 2 * np.pi, 3)
    return (*amplitudes_mm.tolist(), *wave_numbers.tolist(), *phases.tolist())
