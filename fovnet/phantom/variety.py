"""From a standard acquisition to one as found in archives, feature by feature.

Every feature has a generator of its own, so that leaving one out changes nothing in the others; a change
returns the plan itself if the drawn numbers leave it unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from fovnet.phantom.acquisition.breast_coils import cups
from fovnet.phantom.acquisition.coils import bright_within, fallen_off
from fovnet.phantom.acquisition.families import LEG_MASS, named_field, small_family
from fovnet.phantom.acquisition.fitting import fitted, of_any_size
from fovnet.phantom.acquisition.heart_stacks import (
    LONG_AXIS,
    SHORT_AXIS,
    along_the_axis,
    short_axis,
)
from fovnet.phantom.acquisition.localisers import (
    LEAST_SNR,
    NAMES,
    is_localiser,
    localiser,
    with_own,
)
from fovnet.phantom.acquisition.organ_fields import organ_field
from fovnet.phantom.acquisition.protocols import AS_THEY_ARE, Plan, plan
from fovnet.phantom.acquisition.regrid import (
    BY_AXIS,
    about_its_middle,
    canonical,
    coarse,
    recut,
    regridded,
    slice_axis,
)
from fovnet.phantom.anatomy.body import Landmarks
from fovnet.phantom.finish.headers import TRUE_HEADERS, as_picture, draw_turn, region_alone
from fovnet.phantom.finish.masks import BRAIN, draw_finish, stripped
from fovnet.phantom.person.breast_shapes import of_a_kind
from fovnet.phantom.person.traits import Person
from fovnet.phantom.scanner.artefacts import draw_flaws
from fovnet.phantom.scanner.contrasts import freely
from fovnet.phantom.scanner.echo_planar import EchoPlanar
from fovnet.phantom.scanner.sequence import Sequence
from fovnet.volume.orient import closest_axes

SMALL_SHARE = 0.66  # of a person's volumes except the first, which covers several regions
CAREFUL_SHARE = 0.25  # of all volumes
ALONE = "brain alone"  # skull-stripped, except in careful volumes
SHORT_AXIS_SHARE = 0.55  # of the hearts along their own axes
DIFFUSION_PLANAR = 0.8  # of diffusion images; the others are read line by line or segmented
FUNCTIONAL_SHARE = 1 / 8  # of heads: the commonest study of brains in public collections
FUNCTIONAL = Sequence("echo planar", "gradient echo", 2000, 30, flip_deg=77, fat="suppressed")
LONG_AXIS_SHARE = 0.2  # of the hearts along their own axes: four chambers or two, in few slices
# of hearts with a turned header: those with `as_picture`, images in the scanner's column order
PICTURE_SHARE = 0.85
TURNED_SHARE = 1 / 6  # of volumes that show one region alone
TURNED_SHORT_AXES = 0.8  # of hearts along their own axes, which archives keep as stacks of images
FITTED_SHARE = 0.5  # of fields across the whole trunk
ANY_SIZE_SHARE = 1 / 3  # of fields about one organ or part
BREAST_AGAIN, HEART_AGAIN = 0.5, 0.08
"""Shares of the remaining volumes that become one breast, in prone women with breasts `of_a_kind`, or a
heart, in other people."""
BREAST, HEART = "breast, one", "heart, close"
# of fields other than of breasts, a heart along its axes or a mass, those replaced by an organ's
ORGAN_AGAIN = 1 / 6
TILTED_ORGANS = 0.25
# of hanging breasts; the others have the coils of any field of view, mostly elements at their sides
CUPS_SHARE = 0.65
OWN_AXES = (SHORT_AXIS, LONG_AXIS)
DEFINED_BY_CONTRAST = (*OWN_AXES, LEG_MASS, *NAMES)
# of these keep their planned contrast: bright blood, a bright mass, a fast sequence
CONTRAST_KEPT = 0.6
STANDING_WAVE_SHARE = 0.25
"""Share of heads that are brightest in their middle, by standing waves at 3 T and above; the share is a
guess."""
# of volumes: fat suppression fails in places, as is usual outside brain and knee
UNSUPPRESSED_SHARE = 0.4
OF_THE_CHEST = 0.5
"""Least share of chest in a field of a heart or breast: both reach below the liver's dome, and still show the
chest."""


def varied(
    plain: Plan,
    person: Person,
    marks: Landmarks,
    key: tuple[int, int, int],
    without: frozenset[str] = frozenset(),
) -> Plan:
    """The plan of volume `key` (collection seed, subject, number of the volume) with every feature that is
    not left out.

    One volume of four is that of a careful site, with the features of CAREFULLY alone.
    """
    acquired = plain
    careful = np.random.default_rng([*key, 6]).random() < CAREFUL_SHARE
    for name, (number, change) in CHANGES.items():
        if name not in without and not (careful and name not in CAREFULLY):
            acquired = change(
                acquired, person, marks, key[2], np.random.default_rng([*key, 5, number])
            )
    return acquired


def _small_field(
    plain: Plan, person: Person, marks: Landmarks, at: int, rng: np.random.Generator
) -> Plan:
    """A small field of view instead; hearts mostly, others seldom, along their own axes."""
    if at == 0 or rng.random() > SMALL_SHARE:
        return plain
    family = small_family(person, marks, rng)
    acquired = plan(person, marks, family, plain.site, rng)
    chance, most = (0.85, 60.0) if family.name.startswith("heart") else (0.12, 35.0)
    dice = rng.random()
    if family.name.startswith("heart") and dice < chance * (SHORT_AXIS_SHARE + LONG_AXIS_SHARE):
        return (short_axis if dice < chance * SHORT_AXIS_SHARE else along_the_axis)(
            acquired, person, rng
        )
    return _tilted(acquired, person, most, rng) if dice < chance else acquired


def _tilted(acquired: Plan, person: Person, most_deg: float, rng: np.random.Generator) -> Plan:
    """The same field of view rotated about two axes, by 8° to `most_deg` each; its plane is then the one
    nearest to its slices."""
    grid = acquired.grid
    turn = np.eye(3)
    for axis in rng.permutation(3)[:2].tolist():
        angle = np.deg2rad(rng.uniform(8, most_deg) * rng.choice([-1, 1]))
        a, b = [other for other in range(3) if other != axis]
        step = np.eye(3)
        step[[a, a, b, b], [a, b, a, b]] = (
            np.cos(angle),
            -np.sin(angle),
            np.sin(angle),
            np.cos(angle),
        )
        turn = step @ turn
    turned = about_its_middle(grid, turn @ grid.vox_to_ras[:3, :3])
    plane = acquired.plane
    if person.placed and plane != "isotropic":
        plane = BY_AXIS[int(closest_axes(turned.vox_to_ras)[slice_axis(acquired), 0])]
    return replace(
        regridded(acquired, canonical(turned)),
        plane=plane,
        tilted=True,
        truthful=rng.random() < TRUE_HEADERS,
    )


def _breast_or_heart(
    plain: Plan, person: Person, marks: Landmarks, at: int, rng: np.random.Generator
) -> Plan:
    """One breast of a prone woman instead of half of her other fields; of other people a short-axis heart
    instead of one in twelve."""
    share, dice = (BREAST_AGAIN if _hangs(person) else HEART_AGAIN), rng.random()
    if at == 0 or plain.family.hanging or plain.family.name in OWN_AXES or dice > share:
        return plain
    family = named_field(BREAST if _hangs(person) else HEART, person, rng)
    acquired = plan(person, marks, family, plain.site, rng)
    return acquired if family.hanging else short_axis(acquired, person, rng)


def _organ(
    plain: Plan, person: Person, marks: Landmarks, at: int, rng: np.random.Generator
) -> Plan:
    """A close field of one organ or part instead of one field in six; one in four is oblique, as rectum and
    uterus are planned."""
    if (
        at == 0
        or plain.family.hanging
        or plain.family.name in (*OWN_AXES, LEG_MASS)
        or rng.random() > ORGAN_AGAIN
    ):
        return plain
    acquired = plan(person, marks, organ_field(marks, rng), plain.site, rng)
    return _tilted(acquired, person, 35.0, rng) if rng.random() < TILTED_ORGANS else acquired


def _hangs(person: Person) -> bool:
    """Whether this is a prone woman with breasts `of_a_kind`."""
    return person.prone and of_a_kind(person)


def _fitted_field(
    plain: Plan, person: Person, marks: Landmarks, at: int, rng: np.random.Generator
) -> Plan:
    """A trunk-wide field that ends near the skin, or with air on one side; of one organ, images of any size.
    Spine fields do not change."""
    if not plain.family.wide[1]:
        return fitted(plain, person, rng) if rng.random() < FITTED_SHARE else plain
    return (
        of_any_size(plain, rng)
        if not plain.family.side_region and rng.random() < ANY_SIZE_SHARE
        else plain
    )


def _thin_slab(
    plain: Plan, person: Person, marks: Landmarks, at: int, rng: np.random.Generator
) -> Plan:
    """Fewer slices, wider spacing, or coarser voxels; coronal and sagittal stacks a few centimetres deep show
    strips of the body."""
    through = slice_axis(plain)
    grid, dice = plain.grid, rng.random()
    step = float(np.linalg.norm(grid.vox_to_ras[:3, through]))
    whole = grid.shape[through] * step
    if dice < 0.07:
        spacing, slices = rng.uniform(9, 20), int(rng.integers(3, 8))
    elif dice < 0.17:
        spacing = float(np.clip(step * rng.uniform(1.3, 2.5), 4, 12))
        slices = max(3, int(whole / spacing))
    elif dice < 0.23:
        return regridded(plain, coarse(grid, rng.uniform(4.5, 6.5)))
    elif plain.plane == "axial" and dice < 0.38:
        spacing, slices = step, int(rng.integers(3, 13))
    elif plain.plane in ("coronal", "sagittal") and dice < 0.54:
        spacing = step
        slices = max(3, round(rng.uniform(25, 100) / step))
    else:
        return plain
    slices = min(slices, max(3, int(whole / spacing)))
    free = max(whole - slices * spacing, 0.0)
    share = rng.uniform(0, 1) if plain.plane == "axial" else rng.uniform(0.15, 0.85)
    return regridded(plain, recut(grid, through, free * share, slices, round(spacing, 2)))


def _free_contrast(
    plain: Plan, person: Person, marks: Landmarks, at: int, rng: np.random.Generator
) -> Plan:
    if plain.family.name in DEFINED_BY_CONTRAST and rng.random() < CONTRAST_KEPT:
        return plain
    sequence, contrast = freely(plain.sequence, rng, _of_head(plain))
    return replace(plain, sequence=sequence).received(contrast=contrast)


def _coil_fall_off(
    plain: Plan, person: Person, marks: Landmarks, at: int, rng: np.random.Generator
) -> Plan:
    if is_localiser(plain):
        return plain
    coil = fallen_off(plain.acquisition.coil, plain.grid, plain.isocentre_mm, rng)
    if _of_head(plain) and rng.random() < STANDING_WAVE_SHARE:
        coil = bright_within(coil, plain, rng)
    return plain.received(coil=coil)


def _breast_coil(
    plain: Plan, person: Person, marks: Landmarks, at: int, rng: np.random.Generator
) -> Plan:
    """Small elements around hanging breasts in two of three, instead of the planned coil; half with an
    additional bias field."""
    if not plain.family.hanging or not _hangs(person) or rng.random() > CUPS_SHARE:
        return plain
    coil = cups(person, plain.grid, plain.isocentre_mm, rng)
    coil = replace(coil, bias=rng.uniform(0.05, 0.35) if rng.random() < 0.5 else 0.0)
    return plain.received(coil=coil)


def _artefacts(
    plain: Plan, person: Person, marks: Landmarks, at: int, rng: np.random.Generator
) -> Plan:
    """Flaws of the image; SNR of a sixth to 2.5 times the site's; wrap-around of what lies outside the field
    of view."""
    flaws = replace(draw_flaws(plain.plane, rng), begun=0.5 if person.placed else 0.0)
    snr, dice = plain.acquisition.snr, rng.random(2)
    if dice[0] < 0.35:
        snr *= float(np.exp(rng.uniform(-1.8, 0.9)))
    grid = plain.grid
    if is_localiser(plain):
        flaws, snr = with_own(flaws, plain.acquisition.flaws), max(snr, LEAST_SNR)
    elif dice[1] < 0.12 and flaws.phase < 2 and not plain.tilted:
        margin = max(1, round(grid.shape[flaws.phase] * rng.uniform(0.06, 0.25)))
        step = float(np.linalg.norm(grid.vox_to_ras[:3, flaws.phase]))
        grid = recut(grid, flaws.phase, -margin * step, grid.shape[flaws.phase] + 2 * margin, step)
        flaws = replace(flaws, folded=margin)
    if rng.random() < UNSUPPRESSED_SHARE:
        flaws = replace(flaws, unsuppressed=rng.uniform(0.05, 0.45))
    return _echo_planar(replace(plain, grid=grid).received(snr=snr, flaws=flaws), rng)


def _echo_planar(plain: Plan, rng: np.random.Generator) -> Plan:
    """Most diffusion images, and one head in eight as in a functional study: read after one excitation, in
    voxels of 2 to 4 mm."""
    diffusion = plain.sequence.b > 0 or plain.sequence.kind == "diffusion coefficient"
    functional = not diffusion and _of_head(plain) and not is_localiser(plain)
    if rng.random() > (DIFFUSION_PLANAR if diffusion else FUNCTIONAL_SHARE if functional else 0.0):
        return plain
    acquisition, sequence = plain.acquisition, plain.sequence
    if functional:
        sequence = replace(FUNCTIONAL, te=rng.uniform(22, 45), tr=rng.uniform(700, 3000))
    # every other line is read in reverse
    flaws = replace(acquisition.flaws, ghost=(rng.uniform(0, 0.08), 2))
    planar = EchoPlanar(
        flaws.phase,
        flaws.through,
        float(rng.uniform(18, 80) * rng.choice([-1, 1])),
        sequence.te if functional else 0.0,
    )
    read = (
        regridded(plain, coarse(plain.grid, rng.uniform(1.8, 4.0))) if not flaws.folded else plain
    )
    return replace(read, sequence=sequence).received(flaws=flaws, planar=planar)


def _of_head(plain: Plan) -> bool:
    """Whether the field of view is of a head without the neck, or of a brain."""
    return plain.family.high[0] == "vertex" and plain.family.low[0] == "chin"


def _masks(
    plain: Plan, person: Person, marks: Landmarks, at: int, rng: np.random.Generator
) -> Plan:
    finish = draw_finish(_of_head(plain), plain.grid.shape, rng)
    if plain.family.name == ALONE and finish.hides != BRAIN:
        finish = stripped(finish, rng)
    return replace(
        plain, finish=replace(finish, hides="") if plain.acquisition.flaws.folded else finish
    )


def _turned_header(
    plain: Plan, person: Person, marks: Landmarks, at: int, rng: np.random.Generator
) -> Plan:
    """A header of plain voxel sizes, for a volume that shows one region of the chain alone, along any slice
    axis."""
    own_axes = plain.family.name in OWN_AXES
    share = TURNED_SHORT_AXES if own_axes else TURNED_SHARE
    least = OF_THE_CHEST if plain.family.name.startswith(("heart", "breast")) else 1.0
    dice, isotropic_axis = rng.random(), int(rng.integers(3))
    if dice > share or plain.family.side_region or region_alone(plain.grid, marks, least) is None:
        return plain
    spacing = plain.grid.spacing_mm
    through = isotropic_axis if spacing.max() < 1.05 * spacing.min() else slice_axis(plain)
    turn = draw_turn(through, rng)
    if own_axes and rng.random() < PICTURE_SHARE:
        turn = as_picture(through, rng)
    return replace(plain, turn=turn, stored_axes=AS_THEY_ARE)


Change = Callable[[Plan, Person, Landmarks, int, np.random.Generator], Plan]
CHANGES: Mapping[str, tuple[int, Change]] = {
    "small fields": (0, _small_field),
    "more breasts and hearts": (9, _breast_or_heart),
    "organs closely": (11, _organ),
    "fields by the body": (7, _fitted_field),
    "thin slabs": (1, _thin_slab),
    "stacked localisers": (8, localiser),
    "free contrasts": (2, _free_contrast),
    "coil fall-off": (3, _coil_fall_off),
    "coils about breasts": (10, _breast_coil),
    "artefacts": (4, _artefacts),
    "masks": (5, _masks),
    "turned headers": (6, _turned_header),
}
"""For each of `features.SCANNING`, in order of application, the number of its generator and its change of a
plan."""

CAREFULLY = (
    "small fields",
    "more breasts and hearts",
    "organs closely",
    "fields by the body",
    "coils about breasts",
)
"""The features that a careful site has too."""
