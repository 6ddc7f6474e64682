"""Arms beside the trunk in wide coronal fields: next to the elements of the coil, bent by the gradients,
and cut off by the field or folded into it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fovnet.phantom.acquisition.coils import field_corners_mm
from fovnet.phantom.acquisition.field_kinds import ScanRequest
from fovnet.phantom.acquisition.protocols import Plan
from fovnet.phantom.acquisition.regrid import extend_axis
from fovnet.phantom.geometry.edge_bend import EdgeBend
from fovnet.phantom.scanner.artefacts import Flaws
from fovnet.phantom.scanner.scan import Coil

LEAST_HALF_WIDTH_MM = 180.0  # of a field that shows arms
BRIGHT_SHARE = 0.75  # of such fields
BENT_SHARE = 0.7
FOLDED_SHARE = 0.3
BEND_RANGE_MM = (10.0, 60.0)
ONE_ARM_SHARE = 0.2  # of coils: one side has no elements


def with_arms_beside(usual_plan: Plan, request: ScanRequest, rng: np.random.Generator) -> Plan:
    """A wide coronal field of someone whose arms lie beside the trunk, the arms up to four times as
    bright as the trunk, bent and folded over; any other plan as it is."""
    bright_dice, bent_dice, folded_dice = rng.random(3)
    low_mm = field_corners_mm(usual_plan.grid).min(axis=0)
    high_mm = field_corners_mm(usual_plan.grid).max(axis=0)
    half_width_mm = (high_mm[0] - low_mm[0]) / 2
    has_arms = usual_plan.plane == "coronal" and request.person.arm_posture == "beside"
    if not has_arms or half_width_mm < LEAST_HALF_WIDTH_MM:
        return usual_plan
    plan = usual_plan
    if bright_dice < BRIGHT_SHARE:
        coil = _draw_arm_coil(plan, rng)
        plan = plan.with_acquisition(coil=coil)
    if bent_dice < BENT_SHARE:
        edge_bend = EdgeBend(rng.uniform(*BEND_RANGE_MM), float(plan.isocentre_mm[2]))
        plan = replace(plan, edge_bend=edge_bend)
    if folded_dice < FOLDED_SHARE and not plan.is_tilted:
        plan = _fold_sides(plan, rng)
    return plan


def _draw_arm_coil(plan: Plan, rng: np.random.Generator) -> Coil:
    """Elements in columns beside the field, at the height of the arms."""
    low_mm = field_corners_mm(plan.grid).min(axis=0) - plan.isocentre_mm
    high_mm = field_corners_mm(plan.grid).max(axis=0) - plan.isocentre_mm
    arm_y = float(rng.uniform(-40, 50) - plan.isocentre_mm[1])
    columns_x = [float(low_mm[0] - rng.uniform(-10, 45)), float(high_mm[0] + rng.uniform(-10, 45))]
    if rng.random() < ONE_ARM_SHARE:
        columns_x = [columns_x[int(rng.integers(2))]]
    heights_mm = np.arange(low_mm[2], high_mm[2] + 1, rng.uniform(70, 120))
    return replace(
        plan.acquisition.coil,
        centres_mm=[(x, arm_y, float(z)) for x in columns_x for z in heights_mm],
        reach_mm=rng.uniform(40, 90),
        element_share=rng.uniform(0.3, 0.75),
        element_power=rng.uniform(1.0, 1.5),
    )


def _fold_sides(plan: Plan, rng: np.random.Generator) -> Plan:
    """The plan with what lies beside the field folded into it; one that folds already, as it is."""
    flaws = plan.acquisition.flaws
    if flaws.folded_voxels:
        return plan
    margin_voxels = max(1, round(plan.grid.shape[0] * rng.uniform(0.04, 0.16)))
    return replace(plan, grid=extend_axis(plan.grid, 0, margin_voxels)).with_acquisition(
        flaws=_with_sides_folded(flaws, margin_voxels)
    )


def _with_sides_folded(flaws: Flaws, margin_voxels: int) -> Flaws:
    """The flaws of a coronal image with phases from side to side and so many voxels folded over."""
    return replace(flaws, phase_axis=0, slice_axis=1, folded_voxels=margin_voxels)
