"""Lesions: tumours, cysts, bruises and effusions in one person of four, a mass as the reason for a
scan in a leg of one of twelve people, and white matter lesions in old people.

A lesion replaces tissue and displaces none, so landmarks do not change, nor do outlines, except of
a leg with a large mass.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fovnet.phantom.anatomy import belly, breast_findings, limbs
from fovnet.phantom.anatomy.brain import HEMISPHERE_MIDDLE_MM
from fovnet.phantom.anatomy.breast import breast_dome, gland_ellipsoid
from fovnet.phantom.anatomy.layers import Layer, Paints, paint, paint_detail
from fovnet.phantom.geometry.lobed import Lobed, draw_lobed
from fovnet.phantom.geometry.solids import Ellipsoid, HalfSpace, Point, mirror_point, tube
from fovnet.phantom.geometry.tissue_structure import Sheets
from fovnet.phantom.person.breast_shapes import has_shaped_breasts
from fovnet.phantom.person.streams import Stream
from fovnet.phantom.person.traits import Person

LESION_SHARE = 0.25  # of people, those with a lesion (beside white matter lesions)
BREAST_MASS_SHARE = 0.4  # of women who lie prone
LEG_MASS_SHARE = 1 / 12  # of people; `field_kinds.draw_small_field` makes it the reason for scans
SARCOMA_MM = 60.0  # diameter above which soft-tissue tumours are drawn as sarcomas with lobules

# fmt: off
SOFT_TISSUES = (
    "fat", "visceral fat", "intermuscular fat", "muscle", "tendon", "bowel wall", "gland", "skin",
    "tumour", "watery tumour", "fluid of a lesion", "bruise",
)
ORGAN_TISSUES = (
    "liver", "spleen", "kidney cortex", "kidney medulla", "pancreas", "prostate",
    "peripheral zone", "myometrium", "endometrium", "gonad",
)
# fmt: on
BREAST_TISSUES = ("fat", "gland")
BRAIN_TISSUES = ("grey matter", "white matter", "oedematous white matter")
BONE_TISSUES = ("red marrow", "mixed marrow", "yellow marrow", "cortical bone")


class LesionSite(NamedTuple):
    """A part of the body in which lesions occur.

    share        of all lesions
    smallest_mm  least diameter of a lesion there
    largest_mm   largest diameter
    """

    name: str
    share: float
    smallest_mm: float
    largest_mm: float


LESION_SITES = (
    LesionSite("brain", 0.24, 8.0, 60.0),
    LesionSite("thigh", 0.22, 15.0, 140.0),
    LesionSite("pelvis", 0.12, 10.0, 90.0),
    LesionSite("liver", 0.12, 8.0, 90.0),
    LesionSite("breast", 0.08, 8.0, 45.0),
    LesionSite("neck", 0.05, 8.0, 45.0),
    LesionSite("chest", 0.07, 10.0, 70.0),
    LesionSite("calf", 0.05, 10.0, 60.0),
    LesionSite("belly", 0.05, 10.0, 100.0),
)


class MassPlace(NamedTuple):
    """Where a mass is, and its size.

    site_name    of one of LESION_SITES; of a mass in a leg "thigh" or "calf"
    middle       (3,) mm of the written anatomy
    diameter_mm  before its length in a leg is stretched
    """

    site_name: str
    middle: Point
    diameter_mm: float


def paint_lesions(person: Person) -> Paints:
    """This person's lesions: up to three anywhere, those of a breast, a mass in a leg, and those of
    the white matter."""
    rng = person.generator(Stream.LESIONS)
    if rng.random() < LESION_SHARE:
        lesion_count = rng.integers(1, 4)
        for _ in range(lesion_count):
            yield from _paint_lesion(person, rng)
    yield from _paint_breast_mass(person)
    mass = draw_leg_mass(person)
    if mass is not None:
        yield from _paint_mass(person, mass, person.generator(Stream.LEG_MASS_TISSUE))
    yield from _paint_white_matter_lesions(person)


def _paint_breast_mass(person: Person) -> Paints:
    """The reason for a prone breast scan: in four of ten a mass of 1 to 5 cm in one breast, with
    spicules, seldom a second beside it; the findings of individually shaped breasts.

    Source of the appearance: Morris et al. (2013), *ACR BI-RADS Magnetic Resonance Imaging*:
    irregular or lobed, spiculated margins.
    """
    if has_shaped_breasts(person):
        yield from breast_findings.paint_breast_findings(person)
        return
    rng = person.generator(Stream.BREAST_MASS)
    if not person.is_prone or person.age < 25 or rng.random() > BREAST_MASS_SHARE:
        return
    breast = breast_dome(person, int(rng.choice([-1, 1])))
    mass_count = 1 + (rng.random() < 0.3)
    for _ in range(mass_count):
        length_share, width_share, height_share = rng.uniform(
            (0.25, -0.4, -0.4), (0.7, 0.4, 0.4)
        ).tolist()
        middle_mm = breast.point_at_shares(length_share, width_share, height_share)
        radius_mm = float(np.exp(rng.uniform(np.log(5.0), np.log(24.0))))
        mass = draw_lobed(Ellipsoid(middle_mm, _draw_semi_axes(radius_mm, rng)), rng)
        yield paint_detail(mass, "tumour", replaced_tissues=BREAST_TISSUES)
        spicule_count = rng.integers(0, 9)
        for spicule_vector in rng.normal(0, 1, (spicule_count, 3)):
            length_mm = radius_mm * rng.uniform(1.4, 2.4)
            spicule_mm = length_mm * spicule_vector / np.linalg.norm(spicule_vector)
            spicule = tube([middle_mm, middle_mm + spicule_mm], [0.15 * radius_mm + 1.0, 0.8])
            yield paint_detail(spicule, "tumour", replaced_tissues=BREAST_TISSUES)


def _draw_semi_axes(radius_mm: float, rng: np.random.Generator) -> Point:
    """Half axes (3,) mm of an ellipsoid of about that radius."""
    return tuple((radius_mm * np.exp(rng.normal(0, 0.2, 3))).tolist())


def draw_leg_mass(person: Person) -> MassPlace | None:
    """The mass in a leg that is the reason for this person's scans, if any.

    Source of the range of sizes: Pisters et al. (1996), J Clin Oncol 14:1679 (sarcomas of limbs:
    below 5, 5 to 10, above 10 cm all common).
    """
    rng = person.generator(Stream.LEG_MASS)
    if rng.random() > LEG_MASS_SHARE:
        return None
    segment = "calf"
    largest_mm = 100.0
    if rng.random() < 0.75:
        segment = "thigh"
        largest_mm = 150.0
    middle_mm = _draw_site_point(segment, person, rng)
    diameter_mm = float(np.exp(rng.uniform(np.log(30.0), np.log(largest_mm))))
    return MassPlace(segment, middle_mm, diameter_mm)


def _paint_lesion(person: Person, rng: np.random.Generator) -> Paints:
    """One lesion anywhere: solid, cystic, haemorrhagic, or solid with central necrosis."""
    site = LESION_SITES[rng.choice(len(LESION_SITES), p=[site.share for site in LESION_SITES])]
    diameter_mm = float(np.exp(rng.uniform(np.log(site.smallest_mm), np.log(site.largest_mm))))
    middle = _draw_site_point(site.name, person, rng)
    yield from _paint_mass(person, MassPlace(site.name, middle, diameter_mm), rng)


def _paint_mass(person: Person, mass_place: MassPlace, rng: np.random.Generator) -> Paints:
    """A mass of a random kind: a sarcoma if it is large, else a lesion of brain or body."""
    site_name, middle, diameter_mm = mass_place
    half_axes = _draw_semi_axes(0.5 * diameter_mm, rng)
    is_in_leg = site_name in ("thigh", "calf")
    if is_in_leg:
        half_width_mm, half_depth_mm, half_height_mm = half_axes
        half_axes = (half_width_mm, half_depth_mm, half_height_mm * 1.5)
    mass = draw_lobed(Ellipsoid(middle, half_axes), rng)
    kind = rng.choice(["solid", "cystic", "haemorrhagic", "necrotic"], p=[0.35, 0.25, 0.1, 0.3])
    can_be_sarcoma = kind != "haemorrhagic" and (is_in_leg or site_name in ("pelvis", "belly"))
    if can_be_sarcoma and diameter_mm > SARCOMA_MM:
        yield from paint_sarcoma(mass, diameter_mm, rng)
        if is_in_leg:
            yield from _paint_bulge(person, mass)
    elif site_name == "brain":
        yield from _paint_brain_lesion(mass, kind, diameter_mm)
    else:
        yield from _paint_body_lesion(mass, kind, diameter_mm, site_name, rng)


def _paint_brain_lesion(lesion: Lobed, kind: str, diameter_mm: float) -> Paints:
    """A tumour of the brain, or a scar after haemorrhage, with vasogenic oedema, which is limited
    to white matter."""
    oedema = lesion.shrink(-0.3 * diameter_mm)
    yield paint_detail(oedema, "oedematous white matter", replaced_tissues="white matter")
    lesion_tissue = "oedematous white matter" if kind == "haemorrhagic" else "grey matter"
    yield paint_detail(lesion, lesion_tissue, replaced_tissues=BRAIN_TISSUES)
    rim_mm_by_kind = {"cystic": 1.5, "necrotic": 0.15 * diameter_mm}
    if kind in rim_mm_by_kind:
        fluid_core = lesion.shrink(rim_mm_by_kind[kind])
        yield paint_detail(fluid_core, "cerebrospinal fluid", replaced_tissues=BRAIN_TISSUES)


def _paint_body_lesion(
    lesion: Lobed, kind: str, diameter_mm: float, site_name: str, rng: np.random.Generator
) -> Paints:
    """A lesion outside the brain: a tumour, a cyst or a bruise, and what is inside it.

    One in five also replaces bone; only one of a breast replaces skin.
    """
    replaced_tissues: tuple[str, ...] = SOFT_TISSUES + ORGAN_TISSUES
    if rng.random() < 0.2:
        replaced_tissues += BONE_TISSUES
    if site_name != "breast":
        replaced_tissues = tuple(tissue for tissue in replaced_tissues if tissue != "skin")
    tissue_by_kind = {"cystic": "fluid of a lesion", "haemorrhagic": "bruise"}
    lesion_tissue = tissue_by_kind.get(kind, "tumour")
    yield paint_detail(lesion, lesion_tissue, replaced_tissues=replaced_tissues)
    if kind == "necrotic":
        necrosis = draw_lobed(lesion.ellipsoid.shrink(0.17 * diameter_mm), rng)
        yield paint_detail(necrosis, "fluid of a lesion", replaced_tissues="tumour")
    if kind == "haemorrhagic" and rng.random() < 0.5:
        old_blood = lesion.shrink(0.12 * diameter_mm)
        yield paint_detail(old_blood, "fluid of a lesion", replaced_tissues="bruise")
    if kind == "solid" and diameter_mm > 25:
        dark_part = draw_lobed(lesion.ellipsoid.shrink(0.25 * diameter_mm), rng)
        yield paint_detail(dark_part, "muscle", replaced_tissues="tumour")


def paint_sarcoma(mass: Lobed, diameter_mm: float, rng: np.random.Generator) -> Paints:
    """A sarcoma: watery or solid with lobules of the other kind, pockets of fluid, a few thin dark
    septa and a thin dark capsule.

    On T2-weighted images its watery part is four to six times as bright as muscle.
    """
    tissues_around = tuple(tissue for tissue in SOFT_TISSUES if tissue != "skin")
    main_tissue = "tumour"
    lobule_tissue = "watery tumour"
    if rng.random() < 0.65:
        main_tissue = "watery tumour"
        lobule_tissue = "tumour"
    mass_core = mass.shrink(2.0)  # within the capsule
    yield paint_detail(mass, "muscle", replaced_tissues=tissues_around)
    yield paint_detail(mass_core, main_tissue, replaced_tissues="muscle")
    core_tissues = ("tumour", "watery tumour", "fluid of a lesion")
    # thickness of the sheets without a unit, and their distance in diameters of the mass
    for tissue, thickness_range, distance_range in (
        (lobule_tissue, (0.1, 0.7), (0.5, 1.1)),
        ("fluid of a lesion", (0.0, 0.4), (0.4, 0.9)),
        ("muscle", (0.01, 0.05), (0.6, 1.2)),  # septa
    ):
        distance_mm = diameter_mm * rng.uniform(*distance_range)
        sheet_phases = tuple(rng.uniform(0, 2 * np.pi, 3).tolist())
        sheets = Sheets(
            mass_core,
            wavelengths_mm=(distance_mm, 1.1 * distance_mm, 1.4 * distance_mm),
            level_width=rng.uniform(*thickness_range),
            phases=sheet_phases,
        )
        yield paint_detail(sheets, tissue, replaced_tissues=core_tissues)


def _paint_bulge(person: Person, mass: Lobed) -> Paints:
    """Skin, thinned fat and stretched muscle over a mass larger than its leg; between the legs it
    ends at the midline."""
    mass_x, _, _ = mass.ellipsoid.centre
    medial_direction = -1.0 if mass_x > 0 else 1.0
    fat_mm = 7.0 + 0.4 * person.fat_mm
    for thickness_mm, tissue, layer, from_midline_mm in (
        (fat_mm + 1.8, "skin", Layer.SKIN, 0.0),
        (fat_mm, "fat", Layer.FAT, 1.6),
        (5.0, "muscle", Layer.MUSCLE, 4.0),
    ):
        side_of_leg = HalfSpace((medial_direction, 0.0, 0.0), -from_midline_mm)
        yield paint(mass.ellipsoid.shrink(-thickness_mm) & side_of_leg, tissue, layer)


def _draw_site_point(site_name: str, person: Person, rng: np.random.Generator) -> Point:
    """A random point (3,) mm of the written anatomy in the site of that name, on either side."""
    shares = rng.uniform(-1, 1, 3)
    share_x, share_y, share_z = shares.tolist()
    side = int(rng.choice([-1, 1]))
    if site_name == "brain":
        _, y, z = HEMISPHERE_MIDDLE_MM
        return side * (12 + 38 * abs(share_x)), y + 55 * share_y, z + 38 * share_z
    if site_name in ("thigh", "calf"):
        z = 690 + 140 * share_z
        y = 50 * share_y
        if site_name == "calf":
            z = 300 + 110 * share_z
            y -= 20
        (right_point,) = limbs.place_leg_points(person, ((97 + 50 * share_x, y, z),))
        return mirror_point(right_point, side)
    if site_name == "breast":
        middle_mm = np.array(gland_ellipsoid(breast_dome(person, side)).centre)
        spread_mm = np.array((20, 12, 20))
    elif site_name == "liver":
        low_mm, high_mm = belly.plain_liver_solid(person).box
        middle_mm = (low_mm + high_mm) / 2
        spread_mm = 0.3 * (high_mm - low_mm)
    else:
        right_middle, site_spread = SITE_MIDDLES[site_name]
        middle_mm = np.array(mirror_point(right_middle, side))
        spread_mm = np.array(site_spread)
    return tuple((middle_mm + spread_mm * shares).tolist())


SITE_MIDDLES: dict[str, tuple[Point, Point]] = {
    "pelvis": ((60.0, -10.0, 925.0), (55, 75, 60)),
    "neck": ((38.0, -10.0, 1490.0), (20, 35, 30)),
    "chest": ((115.0, 0.0, 1330.0), (40, 95, 90)),
    "belly": ((70.0, 20.0, 1120.0), (70, 90, 80)),
}
"""By the name of a site: its middle on the right, and the largest distance from there along x, y and
z, mm."""


def _paint_white_matter_lesions(person: Person) -> Paints:
    """Lesions of 2 to 9 mm in the white matter, most beside the ventricles: few in middle age,
    dozens in some old people.

    Source of the numbers: de Leeuw et al. (2001), J Neurol Neurosurg Psychiatry 70:9: nearly
    everyone past sixty has some.
    """
    rng = person.generator(Stream.WHITE_MATTER_LESIONS)
    _, middle_y, middle_z = HEMISPHERE_MIDDLE_MM
    mean_count = 0.35 * max(person.age - 40, 0.0) + 0.3
    spot_count = int(min(rng.gamma(1.0, mean_count), 40))
    for _ in range(spot_count):
        side = int(rng.choice([-1, 1]))
        x = side * (16 + abs(rng.normal(0, 10)))
        y = middle_y + rng.normal(-8, 30)
        z = middle_z + rng.normal(18, 9)
        radius_mm = float(np.clip(np.exp(rng.normal(0.5, 0.45)), 1.0, 4.5))
        spot = Ellipsoid((x, y, z), (radius_mm, 1.4 * radius_mm, 1.1 * radius_mm))
        yield paint_detail(spot, "oedematous white matter", replaced_tissues="white matter")
