"""Lesions come and go alone, and are as large and as frequent as specified."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fovnet.phantom.anatomy import lesions
from fovnet.phantom.anatomy.body import label_volume
from fovnet.phantom.anatomy.layers import Layer
from fovnet.phantom.anatomy.layers import paint as paint_of
from fovnet.phantom.geometry.lobed import Lobed, draw_lobed
from fovnet.phantom.geometry.raster import Grid, cut_into_pieces, rasterise
from fovnet.phantom.geometry.solids import Ellipsoid
from fovnet.phantom.geometry.tissue_structure import Box
from fovnet.phantom.person.traits import sample_person
from fovnet.phantom.scanner.sequence import PulseSequence, compute_signals
from fovnet.phantom.scanner.tissues import TISSUES, label_of

PLAIN = frozenset(["varied bodies", "lesions"])


def test_one_person_of_twelve_has_a_mass_in_a_leg() -> None:
    masses = [
        mass
        for number in range(1200)
        if (mass := lesions.draw_leg_mass(sample_person((6, number))))
    ]
    # 100 give or take three standard deviations
    assert 70 < len(masses) < 130
    assert all(30 <= across <= 150 for _, _, across in masses)


def test_lesions_are_in_three_people_of_ten_and_change_nothing_but_themselves() -> None:
    people = [sample_person((5, number)) for number in range(1, 121)]
    have = [
        any(isinstance(paint.solid, Lobed) for paint in lesions.paint_lesions(person))
        for person in people
    ]
    assert 22 < sum(have) < 53  # 1 - 3/4 · 11/12 of 120 people is 38, standard deviation 5
    # those may bulge
    person = next(
        person
        for person, has in zip(people, have, strict=True)
        if has and lesions.draw_leg_mass(person) is None
    )
    low, high = next(
        paint.solid.box for paint in lesions.paint_lesions(person) if isinstance(paint.solid, Lobed)
    )
    affine = np.diag([4.0, 4.0, 4.0, 1.0])
    affine[:3, 3] = -260, -200, person.morph.height_mm(float(low[2] + high[2]) / 2) - 20
    grid = Grid((130, 110, 10), affine)
    whole, plain = (
        label_volume(person, grid, frozenset(without)).labels for without in ((), ("lesions",))
    )
    changed = {"tumour", "watery tumour", "fluid of a lesion", "bruise"}
    changed |= {"oedematous white matter", "grey matter", "cerebrospinal fluid", "muscle"}
    assert np.isin(whole[whole != plain], [label_of(name) for name in changed]).all()
    assert np.array_equal(whole > 0, plain > 0)


def test_two_prone_women_of_five_have_a_tumour_in_a_breast_that_stays_under_its_skin() -> None:
    women = [
        replace(
            sample_person((5, number)), sex="female", is_prone=True, age=50.0, has_own_breasts=False
        )
        for number in range(1, 81)
    ]
    tumours = [list(lesions._paint_breast_mass(woman)) for woman in women]
    assert 20 < sum(map(bool, tumours)) < 44
    assert not any(
        list(lesions._paint_breast_mass(replace(woman, is_prone=False))) for woman in women
    )
    woman = next(woman for woman, solids in zip(women, tumours, strict=True) if solids)
    assert all(
        label_of("skin") not in paint.paintable_labels
        for paint in lesions._paint_breast_mass(woman)
    )


def test_a_large_tumour_is_of_several_tissues_and_its_water_several_times_as_bright_as_muscle_where_t2_is_weighed() -> (
    None
):
    rng = np.random.default_rng(0)
    whole = draw_lobed(Ellipsoid((0.0, 0.0, 0.0), (45.0, 50.0, 80.0)), rng)
    affine = np.diag([3.0, 3.0, 3.0, 1.0])
    affine[:3, 3] = -150
    paints = [
        paint_of(Box((-400.0,) * 3, (400.0,) * 3), "muscle", Layer.MUSCLE),
        *lesions.paint_sarcoma(whole, 95.0, rng),
    ]
    labels = rasterise(cut_into_pieces(paints), Grid((101, 101, 101), affine))
    mass = np.isin(
        labels, [label_of(name) for name in ("tumour", "watery tumour", "fluid of a lesion")]
    )
    assert (
        0.7 < mass.sum() * 27 / (4 / 3 * np.pi * 45 * 50 * 80) < 1.4
        and len(np.unique(labels[mass])) > 1
    )
    bright = compute_signals(
        TISSUES, PulseSequence("T2", "spin echo", 4500, 85, fat_mode="suppressed"), 1.5
    )
    assert 4 < bright[label_of("watery tumour")] / bright[label_of("muscle")] < 7


def test_a_large_tumour_of_a_thigh_bulges_it_under_skin_and_stays_on_its_side() -> None:
    person = sample_person((5, 1), PLAIN)
    mass = draw_lobed(Ellipsoid((130.0, 0.0, 690.0), (50.0, 50.0, 70.0)), np.random.default_rng(0))
    skin, fat, muscle = (paint.solid.box for paint in lesions._paint_bulge(person, mass))
    assert skin[1, 0] > fat[1, 0] > muscle[1, 0] > 180.0
    inside = np.array([skin, fat, muscle])[:, 0, 0]
    assert (inside <= 130.0).all()
    near = draw_lobed(Ellipsoid((30.0, 0.0, 690.0), (50.0, 50.0, 70.0)), np.random.default_rng(0))
    assert all(
        paint.solid.box[0, 0] < 0
        and not paint.solid.contains(np.float32(-5), np.float32(0), np.float32(690))
        for paint in lesions._paint_bulge(person, near)
    )
