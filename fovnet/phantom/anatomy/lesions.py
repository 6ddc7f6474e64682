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
from fovnet.phantom.anatomy.breast import breast_dome as dome
from fovnet.phantom.anatomy.breast import gland_ellipsoid
from fovnet.phantom.anatomy.layers import Layer, Paints, paint, paint_detail
from fovnet.phantom.geometry.lobed import Lobed, draw_lobed
from fovnet.phantom.geometry.solids import Ellipsoid, HalfSpace, Point, mirror_point, tube
from fovnet.phantom.geometry.tissue_structure import Sheets
from fovnet.phantom.person.breast_shapes import has_shaped_breasts
from fovnet.phantom.person.traits import Person

LESION_SHARE = 0.25  # of people, those with a lesion (beside white matter lesions)
BREAST_SHARE = 0.4  # of women who lie prone
LEG_MASS_SHARE = 1 / 12  # of people; `field_kinds.draw_small_field` makes it the reason for scans
LARGE_MM = 60.0  # soft-tissue tumours above this are drawn as sarcomas with lobules

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
BRAIN_TISSUES = ("grey matter", "white matter", "oedematous white matter")
BONE_TISSUES = ("red marrow", "mixed marrow", "yellow marrow", "cortical bone")


class LesionSite(NamedTuple):
    """A part of the body.

    share     of all lesions
    least_mm  smallest diameter of a lesion there
    most_mm   largest
    """

    name: str
    share: float
    least_mm: float
    most_mm: float


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

    site       the name of one of LESION_SITES; of a mass in a leg "thigh" or "calf"
    middle     in written mm
    across_mm  its diameter
    """

    site: str
    middle: Point
    across_mm: float


def paint_lesions(person: Person) -> Paints:
    """This person's lesions, painted over soft tissue."""
    rng = person.generator(782)
    if rng.random() < LESION_SHARE:
        for _ in range(rng.integers(1, 4)):
            yield from _paint_lesion(person, rng)
    yield from _paint_breast_mass(person)
    mass = draw_leg_mass(person)
    if mass is not None:
        yield from _paint_mass(person, mass, person.generator(787))
    yield from _paint_white_matter_lesions(person)


def _paint_breast_mass(person: Person) -> Paints:
    """The reason for a prone breast scan: in four of ten a mass of 1 to 5 cm in one breast, with
    spicules, seldom a second beside it.

    Source of the appearance: Morris et al. (2013), *ACR BI-RADS Magnetic Resonance Imaging*:
    irregular or lobed, spiculated margins.
    """
    if has_shaped_breasts(person):
        yield from breast_findings.paint_breast_findings(person)
        return
    rng = person.generator(784)
    if not person.is_prone or person.age < 25 or rng.random() > BREAST_SHARE:
        return
    breast = dome(person, int(rng.choice([-1, 1])))
    for _ in range(1 + (rng.random() < 0.3)):
        middle_mm = breast.point_at_shares(
            *rng.uniform((0.25, -0.4, -0.4), (0.7, 0.4, 0.4)).tolist()
        )
        size_mm = float(np.exp(rng.uniform(np.log(5.0), np.log(24.0))))
        mass = draw_lobed(Ellipsoid(middle_mm, _draw_semi_axes(size_mm, rng)), rng)
        yield paint_detail(mass, "tumour", replaced_tissues=("fat", "gland"))
        for spicule_direction in rng.normal(0, 1, (rng.integers(0, 9), 3)):
            spicule_mm = (
                size_mm
                * rng.uniform(1.4, 2.4)
                * spicule_direction
                / np.linalg.norm(spicule_direction)
            )
            spicule = tube([middle_mm, middle_mm + spicule_mm], [0.15 * size_mm + 1.0, 0.8])
            yield paint_detail(spicule, "tumour", replaced_tissues=("fat", "gland"))


def _draw_semi_axes(size_mm: float, rng: np.random.Generator) -> Point:
    """Three half axes of about that size."""
    return tuple((size_mm * np.exp(rng.normal(0, 0.2, 3))).tolist())


def draw_leg_mass(person: Person) -> MassPlace | None:
    """The mass in a leg that is the reason for this person's scans, if any.

    Source of the range of sizes: Pisters et al. (1996), J Clin Oncol 14:1679 (sarcomas of limbs:
    below 5, 5 to 10, above 10 cm all common).
    """
    rng = person.generator(786)
    if rng.random() > LEG_MASS_SHARE:
        return None
    segment = "thigh" if rng.random() < 0.75 else "calf"
    middle_mm = _draw_site_point(segment, person, rng)
    largest_mm = 150.0 if segment == "thigh" else 100.0
    across_mm = float(np.exp(rng.uniform(np.log(30.0), np.log(largest_mm))))
    return MassPlace(segment, middle_mm, across_mm)


def _paint_lesion(person: Person, rng: np.random.Generator) -> Paints:
    """One lesion anywhere: solid, cystic, haemorrhagic, or solid with central necrosis."""
    site = LESION_SITES[rng.choice(len(LESION_SITES), p=[site.share for site in LESION_SITES])]
    across_mm = float(np.exp(rng.uniform(np.log(site.least_mm), np.log(site.most_mm))))
    middle = _draw_site_point(site.name, person, rng)
    yield from _paint_mass(person, MassPlace(site.name, middle, across_mm), rng)


def _paint_mass(person: Person, mass_place: MassPlace, rng: np.random.Generator) -> Paints:
    """A mass of a kind drawn at random: a sarcoma if large, else a lesion of brain or body."""
    site_name, middle_mm, across_mm = mass_place
    semi_a, semi_b, semi_c = _draw_semi_axes(0.5 * across_mm, rng)
    is_in_leg = site_name in ("thigh", "calf")
    mass = draw_lobed(
        Ellipsoid(middle_mm, (semi_a, semi_b, semi_c * (1.5 if is_in_leg else 1.0))), rng
    )
    lesion_kind = rng.choice(["solid", "fluid", "bled", "dead inside"], p=[0.35, 0.25, 0.1, 0.3])
    if (
        across_mm > LARGE_MM
        and site_name in ("thigh", "calf", "pelvis", "belly")
        and lesion_kind != "bled"
    ):
        yield from paint_sarcoma(mass, across_mm, rng)
        if is_in_leg:
            yield from _paint_bulge(person, mass)
    elif site_name == "brain":
        yield from _paint_brain_lesion(mass, lesion_kind, across_mm)
    else:
        yield from _paint_body_lesion(mass, lesion_kind, across_mm, site_name, rng)


def _paint_brain_lesion(lesion: Lobed, lesion_kind: str, across_mm: float) -> Paints:
    """A tumour or a scar with vasogenic oedema, which is limited to white matter."""
    oedema_tissue = "oedematous white matter"
    yield paint_detail(
        lesion.shrink(-0.3 * across_mm), oedema_tissue, replaced_tissues="white matter"
    )
    yield paint_detail(
        lesion,
        oedema_tissue if lesion_kind == "bled" else "grey matter",
        replaced_tissues=BRAIN_TISSUES,
    )
    if lesion_kind in ("fluid", "dead inside"):
        fluid_core = lesion.shrink(1.5 if lesion_kind == "fluid" else 0.15 * across_mm)
        yield paint_detail(fluid_core, "cerebrospinal fluid", replaced_tissues=BRAIN_TISSUES)


def _paint_body_lesion(
    lesion: Lobed, lesion_kind: str, across_mm: float, site_name: str, rng: np.random.Generator
) -> Paints:
    """A lesion outside the brain: a tumour, fluid or a bruise, and what is inside it."""
    replaced_tissues = SOFT_TISSUES + ORGAN_TISSUES + (BONE_TISSUES if rng.random() < 0.2 else ())
    if site_name != "breast":
        replaced_tissues = tuple(
            replaced_tissue for replaced_tissue in replaced_tissues if replaced_tissue != "skin"
        )
    lesion_tissue = {"fluid": "fluid of a lesion", "bled": "bruise"}.get(lesion_kind, "tumour")
    yield paint_detail(lesion, lesion_tissue, replaced_tissues=replaced_tissues)
    if lesion_kind == "dead inside":
        fluid_core = draw_lobed(lesion.ellipsoid.shrink(0.17 * across_mm), rng)
        yield paint_detail(fluid_core, "fluid of a lesion", replaced_tissues="tumour")
    if lesion_kind == "bled" and rng.random() < 0.5:
        yield paint_detail(
            lesion.shrink(0.12 * across_mm), "fluid of a lesion", replaced_tissues="bruise"
        )
    # a second part of another tissue, and strands through it
    if lesion_kind == "solid" and across_mm > 25:
        yield paint_detail(
            draw_lobed(lesion.ellipsoid.shrink(0.25 * across_mm), rng),
            "muscle",
            replaced_tissues="tumour",
        )


def paint_sarcoma(mass: Lobed, across_mm: float, rng: np.random.Generator) -> Paints:
    """A sarcoma: watery or solid with lobules of the other kind, pockets of fluid, a few thin dark
    septa and a thin dark capsule.

    On T2-weighted images its watery part is four to six times as bright as muscle.
    """
    replaced_tissues = tuple(tissue for tissue in SOFT_TISSUES if tissue != "skin")
    mass_tissues = (
        ("watery tumour", "tumour") if rng.random() < 0.65 else ("tumour", "watery tumour")
    )
    mass_core = mass.shrink(2.0)
    yield paint_detail(mass, "muscle", replaced_tissues=replaced_tissues)
    yield paint_detail(mass_core, mass_tissues[0], replaced_tissues="muscle")
    for tissue, thickness_range, length_range in (
        (mass_tissues[1], (0.1, 0.7), (0.5, 1.1)),
        ("fluid of a lesion", (0.0, 0.4), (0.4, 0.9)),
        ("muscle", (0.01, 0.05), (0.6, 1.2)),
    ):
        wavelength_mm = across_mm * rng.uniform(*length_range)
        sheet_phase = tuple(rng.uniform(0, 2 * np.pi, 3).tolist())
        sheets = Sheets(
            mass_core,
            (wavelength_mm, 1.1 * wavelength_mm, 1.4 * wavelength_mm),
            rng.uniform(*thickness_range),
            sheet_phase,
        )
        yield paint_detail(
            sheets, tissue, replaced_tissues=("tumour", "watery tumour", "fluid of a lesion")
        )


def _paint_bulge(person: Person, mass: Lobed) -> Paints:
    """Skin, thinned fat and stretched muscle over a mass larger than its leg; between the legs it
    ends at the midline."""
    medial_x = -1.0 if mass.ellipsoid.centre[0] > 0 else 1.0
    fat_mm = 7.0 + 0.4 * person.fat_mm
    for thickness_mm, tissue, layer, gap_mm in (
        (fat_mm + 1.8, "skin", Layer.SKIN, 0.0),
        (fat_mm, "fat", Layer.FAT, 1.6),
        (5.0, "muscle", Layer.MUSCLE, 4.0),
    ):
        yield paint(
            mass.ellipsoid.shrink(-thickness_mm) & HalfSpace((medial_x, 0.0, 0.0), -gap_mm),
            tissue,
            layer,
        )


def _draw_site_point(site_name: str, person: Person, rng: np.random.Generator) -> Point:
    """A point of that part of the body, in mm of the written anatomy."""
    shares = rng.uniform(-1, 1, 3)
    share_x, share_y, share_z = shares.tolist()
    side = int(rng.choice([-1, 1]))
    if site_name == "brain":
        _, y, z = HEMISPHERE_MIDDLE_MM
        return side * (12 + 38 * abs(share_x)), y + 55 * share_y, z + 38 * share_z
    if site_name in ("thigh", "calf"):
        z, behind_mm = (
            (690 + 140 * share_z, 0) if site_name == "thigh" else (300 + 110 * share_z, 20)
        )
        (point,) = limbs.place_leg_points(
            person, ((97 + 50 * share_x, 50 * share_y - behind_mm, z),)
        )
        return mirror_point(point, side)
    if site_name == "breast":
        middle_mm = np.array(gland_ellipsoid(dome(person, side)).centre)
        spread_mm = np.array((20, 12, 20))
    elif site_name == "liver":
        low_mm, high_mm = belly.plain_liver_solid(person).box
        middle_mm = (low_mm + high_mm) / 2
        spread_mm = 0.3 * (high_mm - low_mm)
    else:
        x, *middle_yz = SITE_MIDDLES[site_name][0]
        middle_mm = np.array((x * side, *middle_yz))
        spread_mm = np.array(SITE_MIDDLES[site_name][1])
    return tuple((middle_mm + spread_mm * shares).tolist())


SITE_MIDDLES = {
    "pelvis": ((60.0, -10.0, 925.0), (55, 75, 60)),
    "neck": ((38.0, -10.0, 1490.0), (20, 35, 30)),
    "chest": ((115.0, 0.0, 1330.0), (40, 95, 90)),
    "belly": ((70.0, 20.0, 1120.0), (70, 90, 80)),
}
"""Middle at the right side and largest distance from it of the other sites, mm."""


def _paint_white_matter_lesions(person: Person) -> Paints:
    """Lesions of 2 to 9 mm in the white matter, most beside the ventricles: few in middle age,
    dozens in some old people.

    Source of the numbers: de Leeuw et al. (2001), J Neurol Neurosurg Psychiatry 70:9: nearly
    everyone past sixty has some.
    """
    rng = person.generator(783)
    _, middle_y, middle_z = HEMISPHERE_MIDDLE_MM
    for _ in range(int(min(rng.gamma(1.0, 0.35 * max(person.age - 40, 0.0) + 0.3), 40))):
        side = int(rng.choice([-1, 1]))
        lateral_x = side * (16 + abs(rng.normal(0, 10)))
        offset_y = rng.normal(-8, 30)
        offset_z = rng.normal(18, 9)
        size_mm = float(np.clip(np.exp(rng.normal(0.5, 0.45)), 1.0, 4.5))
        spot = Ellipsoid(
            (lateral_x, middle_y + offset_y, middle_z + offset_z),
            (size_mm, 1.4 * size_mm, 1.1 * size_mm),
        )
        yield paint_detail(spot, "oedematous white matter", replaced_tissues="white matter")
