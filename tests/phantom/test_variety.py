"""What archives hold: each feature alone, and labels that stay true."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nibabel.orientations import io_orientation

from fovnet.errors import ConfigError
from fovnet.phantom.acquisition.coils import _arrays
from fovnet.phantom.acquisition.families import FAMILIES, LEG_MASS, Family, _box, choose_families, small_family
from fovnet.phantom.acquisition.heart_stacks import along_the_axis, short_axis
from fovnet.phantom.acquisition.limb_alone import arm_alone, arm_plan
from fovnet.phantom.acquisition.protocols import SITES, Plan, _field, plan
from fovnet.phantom.acquisition.regrid import canonical, recut
from fovnet.phantom.anatomy.body import Landmarks, label_volume, landmarks
from fovnet.phantom.anatomy.breast import breast
from fovnet.phantom.anatomy.heart import long_axis
from fovnet.phantom.anatomy.lesions import leg_mass
from fovnet.phantom.collection import REGION_COLUMNS, _reached, acquire, nifti_bytes
from fovnet.phantom.features import SCANNING, left_out
from fovnet.phantom.finish.headers import along_claimed_axes, as_picture, draw_turn, region_alone
from fovnet.phantom.finish.masks import BRAIN, FACE, Finish, finished, shown
from fovnet.phantom.finish.stripping import CEREBELLUM, Stripping
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.breast_shapes import of_a_kind
from fovnet.phantom.person.traits import Person, sample_person
from fovnet.phantom.scanner.artefacts import draw_flaws
from fovnet.phantom.scanner.scan import sensitivity
from fovnet.phantom.scanner.tissues import AIR, TISSUES, label_of
from fovnet.phantom.variety import CHANGES, _tilted, varied
from fovnet.records import write_tsv
from fovnet.regions import DEFAULT
from fovnet.volume.collection import read_collection, truth
from fovnet.volume.orient import to_ras
from fovnet.volume.slices import Slicing, slice_volume
from fovnet.volume.volume import Volume

PERSON = sample_person((4, 2))
MARKS = landmarks(PERSON)


def plain(number: int, at: int) -> tuple[Plan, Person]:
    person = sample_person((7, number))
    family = choose_families(at + 1, np.random.default_rng([7, number, 1]))[at]
    return plan(person, landmarks(person), family, SITES[0], np.random.default_rng([7, number, 2, at])), person


def same(one: Plan, other: Plan) -> bool:
    """Whether two plans give one volume."""
    grids = one.grid.shape == other.grid.shape and np.array_equal(one.grid.vox_to_ras, other.grid.vox_to_ras)
    rest = [replace(each, grid=PLAIN_GRID, stored_axes=NO_AXES) for each in (one, other)]
    return grids and np.array_equal(one.stored_axes, other.stored_axes) and repr(rest[0]) == repr(rest[1])


PLAIN_GRID, NO_AXES = Grid((1, 1, 1), np.eye(4)), np.zeros((0, 2), dtype=np.int64)


def test_every_feature_has_its_change_and_its_sentence() -> None:
    assert tuple(CHANGES) == tuple(SCANNING)


def test_without_everything_a_plan_stays_as_it_is() -> None:
    for number in range(1, 9):
        acquired, person = plain(number, number % 3)
        assert varied(acquired, person, landmarks(person), (7, number, number % 3), frozenset(SCANNING)) is acquired


def test_leaving_a_feature_out_changes_nothing_else() -> None:
    """A volume that a feature leaves alone is the same without it: what the others draw does not depend on it."""
    names, left_alone = tuple(SCANNING), dict.fromkeys(SCANNING, 0)
    for number in range(1, 13):
        acquired, person = plain(number, 1)
        marks, key = landmarks(person), (7, number, 1)
        whole = varied(acquired, person, marks, key)
        for at, name in enumerate(names):
            before, after = (varied(acquired, person, marks, key, frozenset(names[first:])) for first in (at, at + 1))
            if same(before, after):
                left_alone[name] += 1
                assert same(varied(acquired, person, marks, key, frozenset({name})), whole)
    assert all(0 < left_alone[name] < 12 for name in ("small fields", "thin slabs", "free contrasts", "masks"))


def test_echo_planar_are_most_diffusion_images_and_some_heads_and_nothing_else() -> None:
    """Spin echoes lose no signal beside air; every other line is read backwards, so that a ghost lies half a field of view away."""
    many = [varied(*plain_of(number)) for number in range(1, 121)]
    planar = [one for one in many if one.acquisition.planar is not None]
    assert 3 <= len(planar) <= 30 and all(one.acquisition.flaws.ghost[1] == 2 for one in planar)
    for one in planar:
        functional = one.sequence.name == "echo planar"
        assert functional or one.sequence.b > 0 or one.sequence.kind == "diffusion coefficient"
        assert functional == (one.acquisition.planar.te_ms > 0) and (not functional or not one.family.long)


def plain_of(number: int) -> tuple[Plan, Person, Landmarks, tuple[int, int, int]]:
    acquired, person = plain(number, 1)
    return acquired, person, landmarks(person), (7, number, 1)


def test_a_feature_that_is_none_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"did you mean 'artefacts'.*phantom-feature"):
        left_out(["artifacts"])


@given(st.integers(0, 2), st.floats(0, 30), st.integers(2, 9), st.floats(1, 9))
def test_recutting_begins_and_ends_where_it_says(axis: int, first_mm: float, slices: int, spacing_mm: float) -> None:
    affine = np.diag([2.0, 3.0, 4.0, 1.0])
    affine[:3, 3] = 7, -5, 11
    cut = recut(Grid((20, 20, 20), affine), axis, first_mm, slices, spacing_mm)
    edges = [(cut.vox_to_ras @ np.insert(np.full(3, 0.0) + np.eye(3)[axis] * at, 3, 1))[axis] for at in (-0.5, slices - 0.5)]
    begin = (affine @ np.insert(np.eye(3)[axis] * -0.5, 3, 1))[axis] + first_mm
    assert edges == pytest.approx([begin, begin + slices * spacing_mm]) and cut.shape[axis] == slices


def tilted(seed: int) -> Plan:
    """A coarse trunk, tilted by up to 60° about two axes."""
    family = Family("test", ("ischium", -60, -60), ("lung_apex", 30, 30), planes="i")
    straight = plan(PERSON, MARKS, family, SITES[1], np.random.default_rng(seed))
    i, j, k = (max(4, size // 4) for size in straight.grid.shape)
    coarse = Grid((i, j, k), straight.grid.vox_to_ras @ np.diag([4, 4, 4, 1.0]))             # voxels of 8 mm or so
    turned = _tilted(replace(straight, grid=coarse), PERSON, 60.0, np.random.default_rng(seed))
    return replace(turned, acquisition=replace(turned.acquisition, average=(1, 1, 1)))


@pytest.mark.parametrize("seed", range(2))
def test_labels_of_oblique_volumes_are_true_where_they_are_cut(seed: int, tmp_path: Path) -> None:
    acquired = replace(tilted(seed), truthful=True)
    assert np.array_equal(io_orientation(acquired.grid.vox_to_ras), [[0, 1], [1, 1], [2, 1]])
    volume, rows = acquire(PERSON, acquired, np.random.default_rng(0))
    (tmp_path / "one.nii.gz").write_bytes(nifti_bytes(volume, acquired.stored_axes))
    named = {"volume_id": "one", "subject_id": "p", "path": "one.nii.gz"}
    write_tsv(tmp_path / "volumes.tsv", tuple(named), [named])
    write_tsv(tmp_path / "regions.tsv", REGION_COLUMNS, [{"volume_id": "one", **row} for row in rows])
    stack = slice_volume(tmp_path / "one.nii.gz", Slicing(), checksum="x")
    seen = truth(stack, read_collection(tmp_path).regions["one"], DEFAULT)
    rungs = np.searchsorted(MARKS.borders_mm, stack.z_mm + acquired.isocentre_mm[2], side="right") - 1
    for flags, rung, z in zip(seen, rungs.tolist(), stack.z_mm, strict=True):
        near = np.abs(np.asarray(MARKS.borders_mm) - z - acquired.isocentre_mm[2]).min() < 2.5      # of the steps in which heights are told
        assert near or flags[-1] or flags[rung]
    assert (~seen[:, -1]).mean() > 0.5


@pytest.mark.parametrize("letter", "acs")
def test_flaws_of_a_turned_field_run_along_its_slices(letter: str) -> None:
    """Turned by up to 60° about two axes, a field in five or more has slices nearer to another plane than the planned one."""
    moved = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        straight = plan(PERSON, MARKS, replace(FAMILIES[6], planes=letter), SITES[0], rng)          # a head
        turned = _tilted(straight, PERSON, 60.0, rng)
        flaws = draw_flaws(turned.plane, rng)
        assert flaws.through == np.linalg.norm(turned.grid.vox_to_ras[:3, :3], axis=0).argmax()     # thick slices
        moved += turned.plane != straight.plane
    assert moved >= 8


def test_a_box_lies_about_a_point_of_the_body_however_small_that_is() -> None:
    """Its middle moves by up to 6 mm from side to side; no point of a child's body is so far from others of it that this leaves it."""
    small = [person for person in (sample_person((5, number)) for number in range(150)) if person.morph.trunk[0] < 0.8]
    assert len(small) >= 3
    for number, person in enumerate(small):
        marks = landmarks(person)
        for seed in range(12):
            rng = np.random.default_rng([number, seed])
            box = _box(person, marks, rng)
            low, high = _field(person, marks, box, rng)
            x, y, z = (low + high) / 2
            affine = np.eye(4)
            affine[:3, 3] = x - 6, y, z
            assert np.any(label_volume(person, Grid((13, 1, 1), affine)).labels != AIR)


@pytest.mark.parametrize(("tilt_deg", "kept"), [(16.0, ["pelvis"]), (24.0, ["pelvis", "abdomen"])])
def test_a_region_that_only_a_corner_reaches_is_none_of_a_volume_that_is_cut_along_its_own_slices(tilt_deg: float, kept: list[str]) -> None:
    """Slices 28 cm deep: their corners lie 4 cm and more above their middles, where no cut is unless the volume is resampled."""
    turn = np.deg2rad(tilt_deg)
    affine = np.diag([2.0, 2.0, 8.0, 1.0])
    affine[1:3, 1:3] = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]) @ np.diag([2.0, 8.0])
    volume = Volume(np.zeros((10, 140, 8), np.float32), affine, "")
    z = volume.slice_heights_mm()
    ends = z[0] - 20, z[-1] + 25, z[-1] + 35
    rows = [{"region": name, "from_mm": ends[at], "to_mm": ends[at + 1]} for at, name in enumerate(("pelvis", "abdomen"))]
    assert [row["region"] for row in _reached(rows, volume)] == kept
    straight = to_ras(volume).slice_heights_mm()
    assert (straight.max() > rows[1]["from_mm"]) == (len(kept) == 2)


def test_canonical_grids_keep_their_corners() -> None:
    grid = Grid((3, 5, 7), np.array([[0, 2.0, 0, 1], [0, 0, -3.0, 2], [4.0, 0, 0, 3], [0, 0, 0, 1]]))
    turned = canonical(grid)
    assert turned.shape == (5, 7, 3)
    ends = [{tuple(np.round(one.vox_to_ras @ [i * (one.shape[0] - 1), j * (one.shape[1] - 1), k * (one.shape[2] - 1), 1], 6))
             for i in (0, 1) for j in (0, 1) for k in (0, 1)} for one in (grid, turned)]
    assert ends[0] == ends[1]


def test_small_fields_show_some_body() -> None:
    rng = np.random.default_rng(1)
    for _ in range(25):
        family = small_family(PERSON, MARKS, rng)
        grid = plan(PERSON, MARKS, family, SITES[0], rng).grid
        coarse = Grid((12, 12, 12), grid.vox_to_ras @ np.diag([*(np.asarray(grid.shape) / 12), 1.0]))
        assert (label_volume(PERSON, coarse).labels != AIR).mean() > 0.05, family.name


def breast_fields(prone: bool) -> tuple[Person, list[Family]]:
    """A woman, and those of 300 tight fields of view of her that are of breasts."""
    person = replace(next(p for number in range(1, 20) if (p := sample_person((4, number))).female and p.age > 20), prone=prone)
    rng = np.random.default_rng(2)
    drawn = [small_family(person, MARKS, rng) for _ in range(300)]
    return person, [family for family in drawn if family.hanging]


def test_most_breasts_looked_at_closely_hang_into_air_and_most_images_lack_fat() -> None:
    """Of one breast, the field ends in air, and on average three tenths or more of the body in it are breast well in front of the chest."""
    (_, lying), (person, hanging) = breast_fields(False), breast_fields(True)
    assert len(hanging) > 6 * len(lying) > 0
    marks, rng = landmarks(person), np.random.default_rng(0)
    plans = [plan(person, marks, family, SITES[0], rng) for family in hanging]
    assert np.mean([acquired.sequence.fat in ("suppressed", "water only") or acquired.sequence.ti > 0 for acquired in plans]) > 0.65
    shares = []
    for acquired in [one for one in plans if one.family.name == "breast, one"][:8]:
        grid = Grid((16, 16, 16), acquired.grid.vox_to_ras @ np.diag([*(np.asarray(acquired.grid.shape) / 16), 1.0]))
        body = label_volume(person, grid).labels != AIR
        ahead = body & (grid.coordinates()[1] / person.morph.trunk[1] > breast(person, 1).base[1] + 12)
        shares.append(ahead.sum() / body.sum())
        assert body[:, -1].mean() < 0.05
    assert np.mean(shares) > 0.3


def test_half_of_a_prone_womans_fields_are_one_breast_and_others_are_now_and_then_hearts() -> None:
    """Of volumes but the first, whatever else they would show; the coil of a breast stands round it, or it keeps the one it had."""
    woman = next(p for number in range(1, 90) if (p := sample_person((4, number))).prone and of_a_kind(p))
    only = frozenset(SCANNING) - {"more breasts and hearts", "coils about breasts"}
    for person, name, low, high in ((woman, "breast, one", 0.35, 0.65), (PERSON, "heart, short axis", 0.02, 0.16)):
        marks, became, coils = landmarks(person), 0, set()
        for at in range(1, 81):
            acquired = plan(person, marks, choose_families(2, np.random.default_rng(at))[1], SITES[0], np.random.default_rng([9, at]))
            one = varied(acquired, person, marks, (9, 1, at), only)
            became += one.family.name == name
            assert one is acquired or one.family.name == name
            coils |= {len(one.acquisition.coil.centres_mm)} if one.family.hanging else set()
        assert low < became / 80 < high, name
        assert varied(acquired, person, marks, (9, 1, 0), only) is acquired
        assert (len(coils) > 4) == (person is woman)


def head_grid() -> Grid:
    affine = np.diag([5.0, 5.0, 5.0, 1.0])
    affine[:3, 3] = -100, -140, MARKS.lung_apex
    return Grid((40, 52, 66), affine)


def test_a_brain_without_its_skull_is_brain_alone_and_its_slices_below_are_none() -> None:
    grid = head_grid()
    labels = label_volume(PERSON, grid).labels
    left = shown(labels, grid, MARKS, BRAIN)
    assert left is not None
    names = {TISSUES[label].name for label in np.unique(labels[left])}
    assert {"grey matter", "white matter"} <= names and not names & {"skin", "fat", "muscle", "air", "cortical bone"}
    base = plan(PERSON, MARKS, Family("head", ("lung_apex", 0, 0), ("vertex", 20, 20), (200, 200), (260, 260), "a"), SITES[0],
                np.random.default_rng(0))
    acquired = replace(base, grid=grid, acquisition=replace(base.acquisition, average=(1, 1, 1)), finish=Finish(BRAIN))
    volume, rows = acquire(PERSON, acquired, np.random.default_rng(0))
    assert (volume.voxels == 0).mean() > 0.7 and [row["region"] for row in rows] == ["head"]
    whole = acquire(PERSON, replace(acquired, finish=Finish()), np.random.default_rng(0))[1]
    assert rows[0]["first_slice"] > whole[0]["first_slice"]


def test_a_good_mask_holds_the_brain_a_wide_one_more_and_one_without_cerebellum_ends_higher() -> None:
    grid = head_grid()
    labels = label_volume(PERSON, grid).labels
    matter = np.isin(labels, [at for at, tissue in enumerate(TISSUES) if "matter" in tissue.name])
    good, wide, less = (
        shown(labels, grid, MARKS, BRAIN, stripping)
        for stripping in (Stripping(), Stripping(reach_mm=8.0), Stripping(gone=CEREBELLUM))
    )
    assert good is not None and wide is not None and less is not None
    assert (good & matter).sum() > 0.9 * matter.sum() and (good & (labels == label_of("skin"))).sum() < 0.01 * good.sum()
    assert good.sum() * 1.1 < wide.sum() < 2 * good.sum()
    lowest = [int(np.flatnonzero(mask.sum(axis=(0, 1)) > 20)[0]) for mask in (good, less)]
    assert 10 <= 5 * (lowest[1] - lowest[0]) <= 45 and 0.75 < less.sum() / good.sum() < 0.97      # the hind brain is an eighth of it all


@pytest.mark.parametrize("cube_mm", [0.0, 256.0])
def test_a_brain_in_a_tight_box_or_a_cube_has_its_region_where_it_is_seen(cube_mm: float) -> None:
    base = plan(PERSON, MARKS, Family("head", ("lung_apex", 0, 0), ("vertex", 20, 20), (200, 200), (260, 260), "a"), SITES[0],
                np.random.default_rng(0))
    finish = Finish(BRAIN, cropped=1, through=True, cube_mm=cube_mm, stripping=Stripping())
    acquired = replace(base, grid=head_grid(), acquisition=replace(base.acquisition, average=(1, 1, 1)), finish=finish)
    volume, rows = acquire(PERSON, acquired, np.random.default_rng(0))
    seen = np.flatnonzero((volume.voxels > 0).sum(axis=(0, 1)) >= 16)                       # of 25 mm2: 400 mm2
    assert abs(rows[0]["first_slice"] - seen[0]) <= 1 and abs(rows[0]["last_slice"] - seen[-1]) <= 1
    assert [row["region"] for row in rows] == ["head"]
    sides = np.asarray(volume.voxels.shape) * volume.spacing_mm
    assert np.allclose(sides, 256, atol=5) if cube_mm else np.all(sides < 200)
    loose = replace(acquired, finish=Finish(BRAIN, stripping=Stripping()))
    whole = acquire(PERSON, loose, np.random.default_rng(0))[0]
    heights = [v.slice_heights_mm()[int((v.voxels > 0).sum(axis=(0, 1)).argmax())] for v in (volume, whole)]
    assert heights[0] == pytest.approx(heights[1])


def test_a_removed_face_is_in_front_and_the_brain_stays() -> None:
    grid = head_grid()
    labels = label_volume(PERSON, grid).labels
    left = shown(labels, grid, MARKS, FACE)
    assert left is not None and left.shape == labels.shape
    gone = np.argwhere(~left & (labels != AIR))
    brain = shown(labels, grid, MARKS, BRAIN)
    assert len(gone) and gone[:, 1].mean() > np.argwhere(labels != AIR)[:, 1].mean() + 8
    assert (left & brain).sum() > 0.97 * brain.sum()


@pytest.mark.parametrize("axis", range(3))
def test_a_turned_header_calls_slices_across_any_axis_axial_and_those_that_show_the_head_are_the_head(axis: int) -> None:
    base = plan(PERSON, MARKS, Family("head", ("lung_apex", 0, 0), ("vertex", 20, 20), (200, 200), (260, 260), "a"), SITES[0],
                np.random.default_rng(0))
    finish = Finish(border=(3, 5))
    acquired = replace(base, grid=head_grid(), acquisition=replace(base.acquisition, average=(1, 1, 1)), finish=finish)
    turn = draw_turn(axis, np.random.default_rng(axis))
    true = acquire(PERSON, acquired, np.random.default_rng(0))[0]
    volume, rows = acquire(PERSON, replace(acquired, turn=turn), np.random.default_rng(0))
    np.testing.assert_array_equal(volume.voxels, along_claimed_axes(true.voxels, turn))
    assert turn[axis][0] == 2 and [row["region"] for row in rows] == ["head"]
    np.testing.assert_allclose(volume.vox_to_ras[:3, :3], 5 * np.eye(3))
    np.testing.assert_allclose(volume.vox_to_ras[:3, :3] @ (np.array(volume.voxels.shape) - 1) / 2, -volume.vox_to_ras[:3, 3])
    bright = np.flatnonzero((volume.voxels > 150).sum(axis=(0, 1)) >= 16)                   # of 25 mm²: 400 mm²
    assert abs(rows[0]["first_slice"] - bright[0]) <= 2 and abs(rows[0]["last_slice"] - bright[-1]) <= 2


def test_only_a_field_of_one_region_is_alone_and_air_above_the_head_is_no_other() -> None:
    grid = head_grid()
    grid.vox_to_ras[2, 3] += 3                                                              # half a voxel, and a little
    assert region_alone(grid, MARKS, 1.0) == 4                                              # legs, pelvis, abdomen, chest, head
    lower = grid.vox_to_ras.copy()
    lower[2, 3] -= 60
    assert region_alone(Grid(grid.shape, lower), MARKS, 1.0) is None and region_alone(Grid(grid.shape, lower), MARKS, 0.5) == 4
    lower[2, 3] = MARKS.vertex + 20
    assert region_alone(Grid(grid.shape, lower), MARKS, 0.5) is None


@pytest.mark.parametrize("seed", range(3))
def test_short_axis_slices_are_cut_across_the_line_from_apex_to_base(seed: int) -> None:
    family = Family("heart", ("liver_dome", -20, 0), ("liver_dome", 100, 120), (200, 240), (180, 220), "a")
    stack = short_axis(plan(PERSON, MARKS, family, SITES[0], np.random.default_rng(seed)), PERSON, np.random.default_rng(seed))
    spacing = np.linalg.norm(stack.grid.vox_to_ras[:3, :3], axis=0)
    along = (np.diff(long_axis(PERSON), axis=0)[0] @ stack.grid.vox_to_ras[:3, :3]) / spacing      # mm along the grid's axes
    through = int(spacing.argmax())
    assert abs(along[through]) > 0.93 * np.linalg.norm(along) and 8 <= stack.grid.shape[through] <= 14
    x, y, z = (np.float32([value]) for value in long_axis(PERSON).mean(axis=0))
    middle = Grid((1, 1, 1), np.block([[np.eye(3), np.array([x, y, z])], [np.zeros((1, 3)), np.ones((1, 1))]]))
    assert TISSUES[int(label_volume(PERSON, middle).labels[0, 0, 0])].name == "arterial blood"


def test_a_long_axis_lies_in_the_slices_of_its_stack_and_the_head_is_up() -> None:
    family = Family("heart", ("liver_dome", -20, 0), ("liver_dome", 100, 120), (200, 240), (180, 220), "a")
    for seed in range(4):
        stack = along_the_axis(plan(PERSON, MARKS, family, SITES[0], np.random.default_rng(seed)), PERSON, np.random.default_rng(seed))
        axes = stack.grid.vox_to_ras[:3, :3] / np.linalg.norm(stack.grid.vox_to_ras[:3, :3], axis=0)
        along = np.diff(long_axis(PERSON), axis=0)[0]
        through = int(np.linalg.norm(stack.grid.vox_to_ras[:3, :3], axis=0).argmax())
        assert abs(along @ axes[:, through]) < 0.35 * np.linalg.norm(along) and np.linalg.det(axes) == pytest.approx(1)
        assert 3 <= stack.grid.shape[through] <= 8


def test_a_picture_keeps_its_columns_mirrored_whichever_way_slices_run() -> None:
    turns = {as_picture(1, np.random.default_rng(seed)) for seed in range(40)}
    assert {turn[0] for turn in turns} == {(0, -1)} and {turn[2] for turn in turns} == {(1, 1), (1, -1)}
    assert {turn[1] for turn in turns} == {(2, 1), (2, -1)}


def test_an_arm_alone_is_seen_and_nothing_else() -> None:
    acquired = arm_plan(PERSON, MARKS, SITES[0], np.random.default_rng(5))
    grid = Grid((16, 16, 16), acquired.grid.vox_to_ras @ np.diag([*(np.asarray(acquired.grid.shape) / 16), 1.0]))
    arm, body = arm_alone(PERSON, grid).labels != AIR, label_volume(PERSON, grid).labels != AIR
    assert 0 < arm.sum() <= body.sum() and np.all(body[arm])


def test_cropping_around_what_is_shown_leaves_every_voxel_where_it_was_in_the_scanner() -> None:
    rng = np.random.default_rng(0)
    affine = np.diag([2.0, 3.0, 4.0, 1.0])
    affine[:3, 3] = -20, 5, 100
    voxels = rng.random((12, 10, 6)).astype(np.float32) + 1
    visible = np.zeros(voxels.shape, dtype=bool)
    visible[3:8, 4:6, 1:3] = True
    volume = Volume(voxels, affine, "made up")
    whole, cut = (finished(volume, visible, (1, 1, 1), Finish(BRAIN, cropped=margin)) for margin in (None, 1))
    assert cut.voxels.shape == (7, 4, 6)
    shift = np.linalg.inv(whole.vox_to_ras) @ cut.vox_to_ras
    first = shift[:3, 3].round().astype(int)
    np.testing.assert_allclose(shift[:3, :3], np.eye(3), atol=1e-12)
    np.testing.assert_array_equal(cut.voxels, whole.voxels[first[0] : first[0] + 7, first[1] : first[1] + 4])
    assert cut.voxels.sum() == whole.voxels.sum() > 0


def test_hardly_any_of_a_field_about_breasts_lies_below_the_liver() -> None:
    for number in range(1, 25):
        woman = replace(sample_person((4, number)), sex="female")
        marks, rng = landmarks(woman), np.random.default_rng(number)
        for family in (drawn for drawn in (small_family(woman, marks, rng) for _ in range(25)) if drawn.hanging):
            low, high = _field(woman, marks, family, rng)
            assert marks.liver_dome - low[2] < 0.12 * (high[2] - low[2]), family.name


def test_arrays_of_small_elements_leave_what_is_deep_darker_than_the_skin() -> None:
    """A loop hears half as well one radius away: the middle of a trunk 24 cm deep, 10 cm from both arrays, at a fifth to two thirds."""
    for seed in range(8):
        coil = _arrays(np.array([-200.0, -150, -150]), np.array([200.0, 150, 150]), np.random.default_rng(seed))
        affine = np.diag([8.0, 6.0, 8.0, 1.0])
        affine[:3, 3] = -200, -150, -150
        heard = sensitivity((51, 51, 38), affine, coil)
        assert heard[15:36, 24:27, 12:26].mean() < 0.66 * heard[15:36, :, 12:26].mean(axis=(0, 2)).max()


def test_a_mass_in_a_leg_is_what_its_field_is_about() -> None:
    """Of those who have one, half of the tight fields: the mass lies whole within their middle three quarters, in the leg it is in."""
    people = [(person, mass) for number in range(120) if (mass := leg_mass(person := sample_person((6, number))))]
    sides = set()
    for person, (_, middle, _) in people[:6]:
        marks, rng = landmarks(person), np.random.default_rng(1)
        fields = [family for family in (small_family(person, marks, rng) for _ in range(60)) if family.name == LEG_MASS]
        assert 15 < len(fields) < 45
        low, high = _field(person, marks, fields[0], rng)
        step = (high - low) / 40
        affine = np.diag([*step, 1.0])
        affine[:3, 3] = low + step / 2
        with_it, without = (label_volume(person, Grid((40, 40, 40), affine), frozenset(left)).labels for left in ((), ("lesions",)))
        changed = np.argwhere(with_it != without)
        assert len(changed) > 20
        assert (np.abs(changed.mean(axis=0) - 20) < 15).all()
        sides.add(middle[0] > 0)
    assert sides == {True, False}


def test_one_person_of_twelve_has_a_mass_in_a_leg() -> None:
    found = [mass for number in range(1200) if (mass := leg_mass(sample_person((6, number))))]
    assert 70 < len(found) < 130                                                    # 100 give or take three standard deviations
    assert all(30 <= across <= 150 for _, _, across in found)
