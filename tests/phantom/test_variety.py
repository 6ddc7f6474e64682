"""What archives hold: each feature alone, and labels that stay true."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from nibabel.orientations import io_orientation

from fovnet.phantom.acquisition.field_kinds import (
    BOX_FIELD,
    USUAL_FIELDS,
    FieldEnd,
    FieldKind,
    ScanRequest,
    choose_field_kinds,
    draw_small_field,
)
from fovnet.phantom.acquisition.localisers import is_localiser, to_localiser
from fovnet.phantom.acquisition.protocols import SITES, Plan, draw_plan
from fovnet.phantom.anatomy import body
from fovnet.phantom.anatomy.body import Landmarks, landmarks
from fovnet.phantom.anatomy.layers import Paints
from fovnet.phantom.collection import REGION_COLUMNS, acquire_volume, encode_nifti
from fovnet.phantom.features import SCANNING
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.breast_shapes import has_shaped_breasts
from fovnet.phantom.person.traits import Person, sample_person
from fovnet.phantom.scanner.artefacts import draw_flaws
from fovnet.phantom.variety import CHANGE_BY_FEATURE, tilt_plan, vary_plan
from fovnet.records import write_tsv
from fovnet.regions import DEFAULT
from fovnet.volume.collection.tables import read_collection
from fovnet.volume.collection.truth import find_classes_of_cuts
from fovnet.volume.slices.stack import Slicing, slice_volume

PERSON = sample_person((4, 2))
MARKS = landmarks(PERSON)


def plain(number: int, at: int) -> tuple[Plan, Person]:
    person = sample_person((7, number))
    field_kind = choose_field_kinds(at + 1, np.random.default_rng([7, number, 1]))[at]
    return draw_plan(
        person, landmarks(person), field_kind, SITES[0], np.random.default_rng([7, number, 2, at])
    ), person


def same(one: Plan, other: Plan) -> bool:
    """Whether two plans give one volume."""
    grids = one.grid.shape == other.grid.shape and np.array_equal(
        one.grid.vox_to_ras, other.grid.vox_to_ras
    )
    rest = [replace(each, grid=PLAIN_GRID, stored_axes=NO_AXES) for each in (one, other)]
    return (
        grids
        and np.array_equal(one.stored_axes, other.stored_axes)
        and repr(rest[0]) == repr(rest[1])
    )


PLAIN_GRID, NO_AXES = Grid((1, 1, 1), np.eye(4)), np.zeros((0, 2), dtype=np.int64)


def test_every_feature_has_its_change_and_its_sentence() -> None:
    assert tuple(CHANGE_BY_FEATURE) == tuple(SCANNING)


def test_fields_and_coils_are_placed_by_a_body_without_what_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(person: Person) -> Paints:
        raise AssertionError("parts that the run leaves out are built")

    monkeypatch.setattr(body, "SMALL_PART_PAINTERS", (refuse,))
    without = frozenset({"joints and organs", "free contrasts"})
    person = sample_person((4, 3), without)
    marks = landmarks(person)
    field_kinds = choose_field_kinds(2, np.random.default_rng(3))
    first_plan = draw_plan(person, marks, field_kinds[1], SITES[0], np.random.default_rng(4))
    request = ScanRequest(person, marks, 1, without)
    rngs = [np.random.default_rng(seed) for seed in range(90)]
    boxes = [draw_small_field(request, rng) for rng in rngs[:30]]
    localisers = [to_localiser(first_plan, request, rng) for rng in rngs]
    assert any(field_kind.name == BOX_FIELD for field_kind in boxes)
    # two of three have a coil on the skin
    assert sum(is_localiser(acquired) for acquired in localisers) > 5
    vary_plan(first_plan, person, marks, (4, 3, 1), without)


def test_without_everything_a_plan_stays_as_it_is() -> None:
    for number in range(1, 9):
        acquired, person = plain(number, number % 3)
        assert (
            vary_plan(
                acquired, person, landmarks(person), (7, number, number % 3), frozenset(SCANNING)
            )
            is acquired
        )


def test_leaving_a_feature_out_changes_nothing_else() -> None:
    """A volume that a feature leaves alone is the same without it: what the others draw does not depend on
    it."""
    names, left_alone = tuple(SCANNING), dict.fromkeys(SCANNING, 0)
    for number in range(1, 13):
        acquired, person = plain(number, 1)
        marks, key = landmarks(person), (7, number, 1)
        whole = vary_plan(acquired, person, marks, key)
        for at, name in enumerate(names):
            before, after = (
                vary_plan(acquired, person, marks, key, frozenset(names[first:]))
                for first in (at, at + 1)
            )
            if same(before, after):
                left_alone[name] += 1
                assert same(vary_plan(acquired, person, marks, key, frozenset({name})), whole)
    assert all(
        0 < left_alone[name] < 12
        for name in ("small fields", "thin slabs", "free contrasts", "masks")
    )


def test_echo_planar_are_most_diffusion_images_and_some_heads_and_nothing_else() -> None:
    """Spin echoes lose no signal beside air; every other line is read backwards, so that a ghost lies half a
    field of view away.

    Fields drawn about the body, and about its skin, are left out: they take a body each.
    """
    many = [
        vary_plan(*plain_of(number), frozenset({"fields by the body", "small fields"}))
        for number in range(1, 121)
    ]
    planar = [one for one in many if one.acquisition.echo_planar is not None]
    assert 3 <= len(planar) <= 30 and all(one.acquisition.flaws.ghosts[1] == 2 for one in planar)
    for one in planar:
        functional = one.sequence.name == "echo planar"
        assert (
            functional or one.sequence.b_value > 0 or one.sequence.kind == "diffusion coefficient"
        )
        assert functional == (one.acquisition.echo_planar.te_ms > 0) and (
            not functional or not one.field_kind.is_long
        )


def plain_of(number: int) -> tuple[Plan, Person, Landmarks, tuple[int, int, int]]:
    acquired, person = plain(number, 1)
    return acquired, person, landmarks(person), (7, number, 1)


def tilted(seed: int) -> Plan:
    """A coarse trunk, tilted by up to 60° about two axes."""
    field_kind = FieldKind(
        "test", FieldEnd("ischium", -60, -60), FieldEnd("lung_apex", 30, 30), plane_letters="i"
    )
    straight = draw_plan(PERSON, MARKS, field_kind, SITES[1], np.random.default_rng(seed))
    i, j, k = (max(4, size // 4) for size in straight.grid.shape)
    # voxels of 8 mm or so
    coarse = Grid((i, j, k), straight.grid.vox_to_ras @ np.diag([4, 4, 4, 1.0]))
    turned = tilt_plan(replace(straight, grid=coarse), PERSON, 60.0, np.random.default_rng(seed))
    return replace(turned, acquisition=replace(turned.acquisition, labels_per_voxel=(1, 1, 1)))


@pytest.mark.parametrize("seed", range(2))
def test_labels_of_oblique_volumes_are_true_where_they_are_cut(seed: int, tmp_path: Path) -> None:
    acquired = replace(tilted(seed), header_is_true=True)
    assert np.array_equal(io_orientation(acquired.grid.vox_to_ras), [[0, 1], [1, 1], [2, 1]])
    volume, rows = acquire_volume(PERSON, acquired, np.random.default_rng(0))
    (tmp_path / "one.nii.gz").write_bytes(encode_nifti(volume, acquired.stored_axes))
    named = {"volume_id": "one", "subject_id": "p", "path": "one.nii.gz"}
    write_tsv(tmp_path / "volumes.tsv", tuple(named), [named])
    write_tsv(
        tmp_path / "regions.tsv", REGION_COLUMNS, [{"volume_id": "one", **row} for row in rows]
    )
    stack = slice_volume(tmp_path / "one.nii.gz", Slicing())
    seen = find_classes_of_cuts(
        stack, read_collection(tmp_path).region_rows_by_volume["one"], DEFAULT
    )
    rungs = (
        np.searchsorted(MARKS.borders_mm, stack.z_mm + acquired.isocentre_mm[2], side="right") - 1
    )
    for flags, rung, z in zip(seen, rungs.tolist(), stack.z_mm, strict=True):
        # heights come in bins of 2 mm
        near = np.abs(np.asarray(MARKS.borders_mm) - z - acquired.isocentre_mm[2]).min() < 2.5
        assert near or flags[-1] or flags[rung]
    assert (~seen[:, -1]).mean() > 0.5


@pytest.mark.parametrize("letter", "acs")
def test_flaws_of_a_turned_field_run_along_its_slices(letter: str) -> None:
    """Turned by up to 60° about two axes, a field in five or more has slices nearer to another plane than the
    planned one."""
    moved = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        straight = draw_plan(
            PERSON, MARKS, replace(USUAL_FIELDS[6], plane_letters=letter), SITES[0], rng
        )  # a head
        turned = tilt_plan(straight, PERSON, 60.0, rng)
        flaws = draw_flaws(turned.plane, rng)
        # thick slices
        assert flaws.slice_axis == np.linalg.norm(turned.grid.vox_to_ras[:3, :3], axis=0).argmax()
        moved += turned.plane != straight.plane
    assert moved >= 8


def test_half_of_a_prone_womans_fields_are_one_breast_and_others_are_now_and_then_hearts() -> None:
    """Of volumes but the first, whatever else they would show; the coil of a breast stands round it, or it
    keeps the one it had."""
    woman = next(
        p
        for number in range(1, 90)
        if (p := sample_person((4, number))).is_prone and has_shaped_breasts(p)
    )
    only = frozenset(SCANNING) - {"more breasts and hearts", "coils about breasts"}
    for person, name, low, high in (
        (woman, "breast, one", 0.35, 0.65),
        (PERSON, "heart, short axis", 0.02, 0.16),
    ):
        marks, became, coils = landmarks(person), 0, set()
        for at in range(1, 81):
            acquired = draw_plan(
                person,
                marks,
                choose_field_kinds(2, np.random.default_rng(at))[1],
                SITES[0],
                np.random.default_rng([9, at]),
            )
            one = vary_plan(acquired, person, marks, (9, 1, at), only)
            became += one.field_kind.name == name
            assert one is acquired or one.field_kind.name == name
            coils |= (
                {len(one.acquisition.coil.centres_mm)} if one.field_kind.shows_breasts else set()
            )
        assert low < became / 80 < high, name
        assert vary_plan(acquired, person, marks, (9, 1, 0), only) is acquired
        assert (len(coils) > 4) == (person is woman)
