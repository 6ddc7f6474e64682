"""From a standard acquisition to one as found in archives, feature by feature.

Every feature has a generator of its own, so that leaving one out changes nothing in the others; a
change returns the plan itself if the drawn numbers leave it unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.acquisition.arms_beside import with_arms_beside
from fovnet.phantom.acquisition.breast_coils import draw_breast_coil
from fovnet.phantom.acquisition.coils import brighten_middle, draw_surface_coil
from fovnet.phantom.acquisition.field_kinds import (
    LEG_MASS_FIELD,
    ScanRequest,
    draw_field_by_name,
    draw_small_field,
)
from fovnet.phantom.acquisition.fitting import fit_to_body, resize_field
from fovnet.phantom.acquisition.heart_stacks import (
    LONG_AXIS,
    SHORT_AXIS,
    to_long_axis,
    to_short_axis,
)
from fovnet.phantom.acquisition.limb_fields import to_limb_or_neck_field
from fovnet.phantom.acquisition.localisers import (
    LEAST_SNR,
    LOCALISER_FIELD_NAMES,
    combine_flaws,
    is_localiser,
    to_localiser,
)
from fovnet.phantom.acquisition.measured_fields import (
    BLADDER_FIELD,
    to_measured_field,
    with_skin_coil,
)
from fovnet.phantom.acquisition.organ_fields import draw_organ_field
from fovnet.phantom.acquisition.protocols import RAS_AXES, Plan, draw_plan
from fovnet.phantom.acquisition.regrid import (
    PLANE_BY_AXIS,
    cut_axis,
    extend_axis,
    find_slice_axis,
    make_coarser,
    regrid,
    reorder_to_canonical,
    replace_axes,
)
from fovnet.phantom.anatomy.body import Landmarks
from fovnet.phantom.finish.headers import (
    TRUE_HEADER_SHARE,
    draw_picture_turn,
    draw_turn,
    find_only_region,
)
from fovnet.phantom.finish.masks import BRAIN, draw_processing, draw_skull_stripping
from fovnet.phantom.person.breast_shapes import has_shaped_breasts
from fovnet.phantom.person.traits import Person
from fovnet.phantom.scanner.artefacts import Ghosts, draw_flaws, motion_start_share
from fovnet.phantom.scanner.contrasts import draw_contrast
from fovnet.phantom.scanner.echo_planar import EchoPlanar
from fovnet.phantom.scanner.sequence import PulseSequence
from fovnet.volume.orient import find_closest_axes

TILTED_SHARE = 0.12  # of small fields, but of hearts
MOST_TILT_DEG = 35.0
TILTED_HEART_SHARE = 0.85  # of small fields of hearts, those oblique or along its own axes
MOST_HEART_TILT_DEG = 60.0
SMALL_SHARE = 0.66  # of a person's volumes except the first, which covers several regions
CAREFUL_SHARE = 0.25  # of all volumes
BRAIN_ALONE = "brain alone"  # skull-stripped, except in careful volumes
SHORT_AXIS_SHARE = 0.55  # of the hearts along their own axes
LONG_AXIS_SHARE = 0.2  # of the hearts along their own axes: four chambers or two, in few slices
DIFFUSION_PLANAR_SHARE = 0.8  # of diffusion images; the others are read line by line or segmented
FUNCTIONAL_SHARE = 1 / 8  # of heads: the commonest study of brains in public collections
FUNCTIONAL_SEQUENCE = PulseSequence(
    "echo planar", "gradient echo", 2000, 30, flip_deg=77, fat_mode="suppressed"
)
# of hearts with a turned header: those with `draw_picture_turn`, images in the scanner's column order
PICTURE_TURN_SHARE = 0.85
TURNED_SHARE = 1 / 6  # of volumes that show one region alone
TURNED_HEART_SHARE = 0.8  # of hearts along their own axes, which archives keep as stacks of images
FITTED_SHARE = 0.5  # of fields across the whole trunk
ANY_SIZE_SHARE = 1 / 3  # of fields about one organ or part
BREAST_FIELD_SHARE = 0.5
HEART_FIELD_SHARE = 0.08
"""Shares of the remaining volumes that become one breast, in prone women with breasts of their
own shape, or a heart, in other people."""
ONE_BREAST_FIELD = "breast, one"
CLOSE_HEART_FIELD = "heart, close"
# of fields other than of breasts, a heart along its axes or a mass, those replaced by an organ's
ORGAN_FIELD_SHARE = 1 / 6
TILTED_ORGAN_SHARE = 0.25
# of hanging breasts; the others have the coils of any field of view, mostly elements at their sides
BREAST_COIL_SHARE = 0.65
HEART_AXES_FIELDS = (SHORT_AXIS, LONG_AXIS)
CONTRAST_DEFINED_FIELDS = (
    *HEART_AXES_FIELDS,
    LEG_MASS_FIELD,
    BLADDER_FIELD,
    *LOCALISER_FIELD_NAMES,
)
# of these keep their planned contrast: bright blood, a bright mass, bright water, a fast sequence
CONTRAST_KEPT_SHARE = 0.6
STANDING_WAVE_SHARE = 0.25
"""Share of heads that are brightest in their middle, by standing waves at 3 T and above; the share
is a guess."""
# of volumes: fat suppression fails in places, as is usual outside brain and knee
UNSUPPRESSED_SHARE = 0.4
LEAST_CHEST_SHARE = 0.5
"""Least share of chest in a field of a heart or breast: both reach below the liver's dome, and
still show the chest."""


def vary_plan(
    usual_plan: Plan,
    person: Person,
    marks: Landmarks,
    key: tuple[int, int, int],
    without: frozenset[str] = frozenset(),
) -> Plan:
    """The plan of volume `key` (collection seed, subject, number of the volume) with every feature
    that is not left out.

    One volume of four is that of a careful site, with the features of CAREFUL_FEATURES alone.
    """
    plan = usual_plan
    request = ScanRequest(person, marks, volume_number=key[2], left_out=without)
    is_careful = np.random.default_rng([*key, 6]).random() < CAREFUL_SHARE
    for feature, (stream_number, change_plan) in CHANGE_BY_FEATURE.items():
        is_usual_there = feature in CAREFUL_FEATURES or not is_careful
        if feature not in without and is_usual_there:
            plan = change_plan(plan, request, np.random.default_rng([*key, 5, stream_number]))
    return plan


def _to_small_field(usual_plan: Plan, request: ScanRequest, rng: np.random.Generator) -> Plan:
    """A small field of view instead; hearts mostly, others seldom, along their own axes."""
    if request.volume_number == 0 or rng.random() > SMALL_SHARE:
        return usual_plan
    field_kind = draw_small_field(request, rng)
    plan = draw_plan(request.person, request.marks, field_kind, usual_plan.site, rng)
    tilt_dice = rng.random()
    if not field_kind.name.startswith("heart"):
        if tilt_dice < TILTED_SHARE:
            return tilt_plan(plan, request.person, MOST_TILT_DEG, rng)
        return plan
    if tilt_dice < TILTED_HEART_SHARE * SHORT_AXIS_SHARE:
        return to_short_axis(plan, request.person, rng)
    if tilt_dice < TILTED_HEART_SHARE * (SHORT_AXIS_SHARE + LONG_AXIS_SHARE):
        return to_long_axis(plan, request.person, rng)
    if tilt_dice < TILTED_HEART_SHARE:
        return tilt_plan(plan, request.person, MOST_HEART_TILT_DEG, rng)
    return plan


def tilt_plan(plan: Plan, person: Person, most_deg: float, rng: np.random.Generator) -> Plan:
    """The same field of view rotated about two axes, by 8° to `most_deg` each; its plane is then
    the one nearest to its slices."""
    grid = plan.grid
    rotation = np.eye(3)
    for axis in rng.permutation(3)[:2].tolist():
        angle = np.deg2rad(rng.uniform(8, most_deg) * rng.choice([-1, 1]))
        rotation = _rotation_about(axis, angle) @ rotation
    tilted_grid = replace_axes(grid, rotation @ grid.vox_to_ras[:3, :3])
    nearest_plane = plan.plane
    if person.is_placed_exactly and nearest_plane != "isotropic":
        canonical_axes = find_closest_axes(tilted_grid.vox_to_ras)[:, 0]
        nearest_plane = PLANE_BY_AXIS[int(canonical_axes[find_slice_axis(plan)])]
    return replace(
        regrid(plan, reorder_to_canonical(tilted_grid)),
        plane=nearest_plane,
        is_tilted=True,
        header_is_true=rng.random() < TRUE_HEADER_SHARE,
    )


def _rotation_about(axis: int, angle: float) -> NDArray[np.float64]:
    """(3, 3) rotation by an angle in radians about an axis."""
    first_axis, second_axis = [other_axis for other_axis in range(3) if other_axis != axis]
    rotation = np.eye(3)
    rotation[first_axis, first_axis] = np.cos(angle)
    rotation[first_axis, second_axis] = -np.sin(angle)
    rotation[second_axis, first_axis] = np.sin(angle)
    rotation[second_axis, second_axis] = np.cos(angle)
    return rotation


def _to_breast_or_heart(usual_plan: Plan, request: ScanRequest, rng: np.random.Generator) -> Plan:
    """One breast of a prone woman instead of half of her other fields; of other people a short-axis
    heart instead of one in twelve."""
    person = request.person
    has_hanging_breasts = _has_hanging_breasts(person)
    replaced_share = HEART_FIELD_SHARE
    new_field_name = CLOSE_HEART_FIELD
    if has_hanging_breasts:
        replaced_share = BREAST_FIELD_SHARE
        new_field_name = ONE_BREAST_FIELD
    replacement_dice = rng.random()
    usual_kind = usual_plan.field_kind
    if request.volume_number == 0 or usual_kind.shows_breasts:
        return usual_plan
    if usual_kind.name in HEART_AXES_FIELDS or replacement_dice > replaced_share:
        return usual_plan
    field_kind = draw_field_by_name(new_field_name, person, rng)
    plan = draw_plan(person, request.marks, field_kind, usual_plan.site, rng)
    if has_hanging_breasts:
        return plan
    return to_short_axis(plan, person, rng)


def _to_organ_field(usual_plan: Plan, request: ScanRequest, rng: np.random.Generator) -> Plan:
    """A close field of one organ or part instead of one field in six; one in four is oblique, as
    rectum and uterus are planned."""
    usual_kind = usual_plan.field_kind
    if request.volume_number == 0 or usual_kind.shows_breasts:
        return usual_plan
    if usual_kind.name in (*HEART_AXES_FIELDS, LEG_MASS_FIELD):
        return usual_plan
    if rng.random() > ORGAN_FIELD_SHARE:
        return usual_plan
    organ_field = draw_organ_field(request.marks, rng)
    plan = draw_plan(request.person, request.marks, organ_field, usual_plan.site, rng)
    if rng.random() < TILTED_ORGAN_SHARE:
        return tilt_plan(plan, request.person, MOST_TILT_DEG, rng)
    return plan


def _has_hanging_breasts(person: Person) -> bool:
    """Whether this is a prone woman with breasts of her own shape."""
    return person.is_prone and has_shaped_breasts(person)


def _to_fitted_field(usual_plan: Plan, request: ScanRequest, rng: np.random.Generator) -> Plan:
    """A trunk-wide field that ends near the skin, or with air on one side; of one organ, images of
    any size. Spine fields do not change."""
    field_kind = usual_plan.field_kind
    if field_kind.is_as_wide_as_person:
        if rng.random() < FITTED_SHARE:
            return fit_to_body(usual_plan, request.person, rng)
        return usual_plan
    if not field_kind.side_region and rng.random() < ANY_SIZE_SHARE:
        return resize_field(usual_plan, rng)
    return usual_plan


def _to_thin_slab(usual_plan: Plan, request: ScanRequest, rng: np.random.Generator) -> Plan:
    """Fewer slices, wider spacing, or coarser voxels; coronal and sagittal stacks a few centimetres
    deep show strips of the body."""
    across_axis = find_slice_axis(usual_plan)
    grid = usual_plan.grid
    is_axial = usual_plan.plane == "axial"
    slab_dice = rng.random()
    usual_spacing_mm = float(np.linalg.norm(grid.vox_to_ras[:3, across_axis]))
    extent_mm = grid.shape[across_axis] * usual_spacing_mm
    spacing_mm = usual_spacing_mm
    if slab_dice < 0.07:
        spacing_mm = rng.uniform(9, 20)
        slice_count = int(rng.integers(3, 8))
    elif slab_dice < 0.17:
        spacing_mm = float(np.clip(usual_spacing_mm * rng.uniform(1.3, 2.5), 4, 12))
        slice_count = max(3, int(extent_mm / spacing_mm))
    elif slab_dice < 0.23:
        return regrid(usual_plan, make_coarser(grid, rng.uniform(4.5, 6.5)))
    elif is_axial and slab_dice < 0.38:
        slice_count = int(rng.integers(3, 13))
    elif usual_plan.plane in ("coronal", "sagittal") and slab_dice < 0.54:
        slice_count = max(3, round(rng.uniform(25, 100) / usual_spacing_mm))
    else:
        return usual_plan
    slice_count = min(slice_count, max(3, int(extent_mm / spacing_mm)))
    free_mm = max(extent_mm - slice_count * spacing_mm, 0.0)
    start_share_range = (0.15, 0.85)
    if is_axial:
        start_share_range = (0.0, 1.0)
    start_mm = free_mm * rng.uniform(*start_share_range)
    slab_grid = cut_axis(grid, across_axis, start_mm, slice_count, round(spacing_mm, 2))
    return regrid(usual_plan, slab_grid)


def _with_free_contrast(usual_plan: Plan, request: ScanRequest, rng: np.random.Generator) -> Plan:
    """Another sequence or contrast; a plan defined by its contrast mostly keeps it."""
    is_defined_by_contrast = usual_plan.field_kind.name in CONTRAST_DEFINED_FIELDS
    if is_defined_by_contrast and rng.random() < CONTRAST_KEPT_SHARE:
        return usual_plan
    sequence, contrast = draw_contrast(usual_plan.sequence, rng, is_of_head=_is_of_head(usual_plan))
    return replace(usual_plan, sequence=sequence).with_acquisition(free_contrast=contrast)


def _with_coil_fall_off(usual_plan: Plan, request: ScanRequest, rng: np.random.Generator) -> Plan:
    """Any surface coil or bias field; localisers keep their coil."""
    if is_localiser(usual_plan):
        return usual_plan
    coil = draw_surface_coil(
        usual_plan.acquisition.coil, usual_plan.grid, usual_plan.isocentre_mm, rng
    )
    if _is_of_head(usual_plan) and rng.random() < STANDING_WAVE_SHARE:
        coil = brighten_middle(coil, usual_plan, rng)
    return usual_plan.with_acquisition(coil=coil)


def _with_skin_coil(usual_plan: Plan, request: ScanRequest, rng: np.random.Generator) -> Plan:
    """Small elements next to the skin in some fields; localisers keep their coil."""
    if is_localiser(usual_plan):
        return usual_plan
    return with_skin_coil(usual_plan, request, rng)


def _with_breast_coil(usual_plan: Plan, request: ScanRequest, rng: np.random.Generator) -> Plan:
    """Small elements around hanging breasts in two of three, instead of the planned coil; half with
    an additional bias field."""
    if not usual_plan.field_kind.shows_breasts or not _has_hanging_breasts(request.person):
        return usual_plan
    if rng.random() > BREAST_COIL_SHARE:
        return usual_plan
    coil = draw_breast_coil(request.person, usual_plan.grid, usual_plan.isocentre_mm, rng)
    bias_spread = 0.0
    if rng.random() < 0.5:
        bias_spread = rng.uniform(0.05, 0.35)
    return usual_plan.with_acquisition(coil=replace(coil, bias_spread=bias_spread))


def _with_artefacts(usual_plan: Plan, request: ScanRequest, rng: np.random.Generator) -> Plan:
    """Flaws of the image; SNR of a sixth to 2.5 times the site's; wrap-around of what lies outside
    the field of view."""
    start_share = motion_start_share(request.person.is_placed_exactly)
    flaws = replace(draw_flaws(usual_plan.plane, rng), motion_start_share=start_share)
    snr = usual_plan.acquisition.snr
    snr_dice, folding_dice = rng.random(2)
    if snr_dice < 0.35:
        snr *= float(np.exp(rng.uniform(-1.8, 0.9)))
    grid = usual_plan.grid
    if is_localiser(usual_plan):
        flaws = combine_flaws(flaws, usual_plan.acquisition.flaws)
        snr = max(snr, LEAST_SNR)
    elif folding_dice < 0.12 and flaws.phase_axis < 2 and not usual_plan.is_tilted:
        phase_size = grid.shape[flaws.phase_axis]
        margin_voxels = max(1, round(phase_size * rng.uniform(0.06, 0.25)))
        grid = extend_axis(grid, flaws.phase_axis, margin_voxels)
        flaws = replace(flaws, folded_voxels=margin_voxels)
    if rng.random() < UNSUPPRESSED_SHARE:
        flaws = replace(flaws, unsuppressed_share=rng.uniform(0.05, 0.45))
    plan = replace(usual_plan, grid=grid).with_acquisition(snr=snr, flaws=flaws)
    return _with_echo_planar_readout(plan, rng)


def _with_echo_planar_readout(usual_plan: Plan, rng: np.random.Generator) -> Plan:
    """Most diffusion images, and one head in eight as in a functional study: read after one
    excitation, in voxels of 2 to 4 mm."""
    acquisition = usual_plan.acquisition
    sequence = usual_plan.sequence
    is_diffusion = sequence.b_value > 0 or sequence.kind == "diffusion coefficient"
    is_functional = not is_diffusion and _is_of_head(usual_plan) and not is_localiser(usual_plan)
    planar_share = 0.0
    if is_diffusion:
        planar_share = DIFFUSION_PLANAR_SHARE
    elif is_functional:
        planar_share = FUNCTIONAL_SHARE
    if rng.random() > planar_share:
        return usual_plan
    dephasing_te_ms = 0.0
    if is_functional:
        dephasing_te_ms = rng.uniform(22, 45)
        sequence = replace(FUNCTIONAL_SEQUENCE, te_ms=dephasing_te_ms, tr_ms=rng.uniform(700, 3000))
    # every other line is read in reverse
    flaws = replace(acquisition.flaws, ghosts=Ghosts(rng.uniform(0, 0.08), copy_count=2))
    bandwidth_hz = float(rng.uniform(18, 80) * rng.choice([-1, 1]))
    readout = EchoPlanar(flaws.phase_axis, flaws.slice_axis, bandwidth_hz, dephasing_te_ms)
    plan = usual_plan
    if not flaws.folded_voxels:
        plan = regrid(usual_plan, make_coarser(usual_plan.grid, rng.uniform(1.8, 4.0)))
    return replace(plan, sequence=sequence).with_acquisition(flaws=flaws, echo_planar=readout)


def _is_of_head(plan: Plan) -> bool:
    """Whether the field of view is of a head without the neck, or of a brain."""
    field_kind = plan.field_kind
    return field_kind.upper_end.landmark == "vertex" and field_kind.lower_end.landmark == "chin"


def _with_masks(usual_plan: Plan, request: ScanRequest, rng: np.random.Generator) -> Plan:
    """Processing after the scan: skulls, faces or backgrounds removed, intensities clipped."""
    processing = draw_processing(usual_plan.grid.shape, rng, is_of_head=_is_of_head(usual_plan))
    if usual_plan.field_kind.name == BRAIN_ALONE and processing.mask_kind != BRAIN:
        processing = draw_skull_stripping(processing, rng)
    if usual_plan.acquisition.flaws.folded_voxels:
        processing = replace(processing, mask_kind="")
    return replace(usual_plan, processing=processing)


def _with_turned_header(usual_plan: Plan, request: ScanRequest, rng: np.random.Generator) -> Plan:
    """A header of plain voxel sizes, for a volume that shows one region of the chain alone, along
    any slice axis."""
    field_kind = usual_plan.field_kind
    is_along_heart_axes = field_kind.name in HEART_AXES_FIELDS
    turned_share = TURNED_SHARE
    if is_along_heart_axes:
        turned_share = TURNED_HEART_SHARE
    least_region_share = 1.0
    if field_kind.name.startswith(("heart", "breast")):
        least_region_share = LEAST_CHEST_SHARE
    turn_dice = rng.random()
    random_axis = int(rng.integers(3))
    if turn_dice > turned_share or field_kind.side_region:
        return usual_plan
    if find_only_region(usual_plan.grid, request.marks.borders_mm, least_region_share) is None:
        return usual_plan
    spacing_mm = usual_plan.grid.spacing_mm
    claimed_slice_axis = find_slice_axis(usual_plan)
    if spacing_mm.max() < 1.05 * spacing_mm.min():
        claimed_slice_axis = random_axis
    header_turn = draw_turn(claimed_slice_axis, rng)
    if is_along_heart_axes and rng.random() < PICTURE_TURN_SHARE:
        header_turn = draw_picture_turn(claimed_slice_axis, rng)
    return replace(usual_plan, header_turn=header_turn, stored_axes=RAS_AXES)


Change = Callable[[Plan, ScanRequest, np.random.Generator], Plan]
CHANGE_BY_FEATURE: Mapping[str, tuple[int, Change]] = {
    "small fields": (0, _to_small_field),
    "more breasts and hearts": (9, _to_breast_or_heart),
    "organs closely": (11, _to_organ_field),
    "fields by the body": (7, _to_fitted_field),
    "fields as measured": (12, to_measured_field),
    "limbs and necks": (15, to_limb_or_neck_field),
    "thin slabs": (1, _to_thin_slab),
    "stacked localisers": (8, to_localiser),
    "free contrasts": (2, _with_free_contrast),
    "coil fall-off": (3, _with_coil_fall_off),
    "coils on the skin": (13, _with_skin_coil),
    "coils about breasts": (10, _with_breast_coil),
    "artefacts": (4, _with_artefacts),
    "arms beside the trunk": (14, with_arms_beside),
    "masks": (5, _with_masks),
    "turned headers": (6, _with_turned_header),
}
"""For each of `features.SCANNING`, in order of application, the number of its generator and its
change of a plan."""

CAREFUL_FEATURES = (
    "small fields",
    "more breasts and hearts",
    "organs closely",
    "fields by the body",
    "fields as measured",
    "limbs and necks",
    "coils about breasts",
    "arms beside the trunk",
)
"""The features that a careful site has too."""
