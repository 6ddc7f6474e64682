"""Grids reoriented, recut and made coarser, and plans on a new grid."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from nibabel.orientations import inv_ornt_aff
from numpy.typing import NDArray

from fovnet.phantom.acquisition.protocols import Plan, choose_label_voxels, grid_about
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.scanner.artefacts import SLICE_AXIS_BY_PLANE
from fovnet.volume.orient import find_closest_axes

PLANE_BY_AXIS = ("sagittal", "coronal", "axial")
"""The plane of slices across each of the RAS axes."""


def reorder_to_canonical(grid: Grid) -> Grid:
    """The grid with its axes in the closest RAS order, covering the same voxels."""
    axis_order = find_closest_axes(grid.vox_to_ras)
    affine = grid.vox_to_ras @ inv_ornt_aff(axis_order, grid.shape)  # type: ignore[no-untyped-call]
    size_i, size_j, size_k = (grid.shape[axis] for axis in axis_order[:, 0].argsort().tolist())
    return Grid((size_i, size_j, size_k), affine)


def replace_axes(grid: Grid, axes: NDArray[np.float64]) -> Grid:
    """The grid with other axes (3, 3), mm per voxel, about the same middle."""
    return grid_about(grid.middle_mm, axes, grid.shape)


def cut_axis(grid: Grid, axis: int, start_mm: float, voxel_count: int, spacing_mm: float) -> Grid:
    """The grid with `voxel_count` voxels of `spacing_mm` along an axis, starting `start_mm` inside
    its edge."""
    old_spacing_mm = float(np.linalg.norm(grid.vox_to_ras[:3, axis]))
    affine = grid.vox_to_ras.copy()
    affine[:3, 3] += affine[:3, axis] * ((start_mm + spacing_mm / 2) / old_spacing_mm - 0.5)
    affine[:3, axis] *= spacing_mm / old_spacing_mm
    shape = list(grid.shape)
    shape[axis] = voxel_count
    return Grid((shape[0], shape[1], shape[2]), affine)


def extend_axis(grid: Grid, axis: int, margin_voxels: int) -> Grid:
    """The grid with so many more voxels at each end of an axis."""
    step_mm = float(np.linalg.norm(grid.vox_to_ras[:3, axis]))
    voxel_count = grid.shape[axis] + 2 * margin_voxels
    return cut_axis(grid, axis, -margin_voxels * step_mm, voxel_count, step_mm)


def make_coarser(grid: Grid, spacing_mm: float) -> Grid:
    """The grid with voxels of at least that size along every axis."""
    for axis in range(3):
        old_spacing_mm = float(np.linalg.norm(grid.vox_to_ras[:3, axis]))
        if old_spacing_mm < spacing_mm:
            voxel_count = max(4, round(grid.shape[axis] * old_spacing_mm / spacing_mm))
            grid = cut_axis(grid, axis, 0.0, voxel_count, spacing_mm)
    return grid


def find_slice_axis(plan: Plan) -> int:
    """The axis across the slices: the coarsest, or that of the plane if all are equal."""
    plane_axis = SLICE_AXIS_BY_PLANE.get(plan.plane, 0)
    spacing_mm = plan.grid.spacing_mm
    if spacing_mm[plane_axis] >= spacing_mm.max() * 0.99:
        return plane_axis
    return int(spacing_mm.argmax())


def regrid(plan: Plan, grid: Grid) -> Plan:
    """The plan on that grid, with the label voxels for its spacing."""
    return replace(plan, grid=grid).with_acquisition(
        labels_per_voxel=choose_label_voxels(grid.spacing_mm, grid.shape)
    )
