"""Legs in cross-section: what the muscles fill, where fat and bone lie; and lesions, which come and go alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from fovnet.phantom.anatomy import lesions, limbs
from fovnet.phantom.anatomy.body import anatomy, label_volume, landmarks
from fovnet.phantom.anatomy.layers import Layer
from fovnet.phantom.anatomy.layers import paint as paint_of
from fovnet.phantom.anatomy.leg_muscles import THIGH, _built, planes
from fovnet.phantom.geometry.bundles import Outline
from fovnet.phantom.geometry.lobed import Lobed, lobed
from fovnet.phantom.geometry.raster import Grid, pieces_of, rasterise
from fovnet.phantom.geometry.solids import Ellipsoid
from fovnet.phantom.geometry.tissue_structure import Box
from fovnet.phantom.person.traits import sample_person
from fovnet.phantom.scanner.sequence import Sequence, signals
from fovnet.phantom.scanner.tissues import TISSUES, label_of

PLAIN = frozenset(["varied bodies", "lesions"])


def section(number: int, share: float, without: frozenset[str] = PLAIN) -> NDArray[np.integer]:
    """(i, j) labels of 2 mm of the right leg, at a share of the way from the soles to the ischium."""
    person = sample_person((5, number), without)
    affine = np.diag([2.0, 2.0, 2.0, 1.0])
    affine[:3, 3] = 4, -160, share * landmarks(person).ischium
    return label_volume(person, Grid((120, 160, 1), affine), without).labels[:, :, 0]


@pytest.mark.parametrize("number", range(1, 7))
def test_a_thigh_is_muscle_within_fat_and_its_femur_stands_outside_the_middle(number: int) -> None:
    """Muscle and the fat between take most of a lean thigh and a third of a fat one; fat between muscles is a small part of both."""
    labels = section(number, 0.8)
    muscle, between = (int((labels == label_of(name)).sum()) for name in ("muscle", "intermuscular fat"))
    assert 0.25 < muscle / (labels > 0).sum() < 0.9
    assert 0.02 < between / (muscle + between) < 0.3
    femur, flesh = (np.argwhere(labels == label_of(name)).mean(axis=0) for name in ("yellow marrow", "muscle"))
    assert femur[0] > flesh[0] + 3      # 6 mm further out


def test_each_muscle_of_a_leg_is_a_little_elsewhere_on_either_side_for_itself() -> None:
    """All moved alike would be a leg moved within its fat."""
    person = sample_person((5, 1))
    built = np.array([muscle[0][0][:2] for muscle in _built(person, THIGH, 0)])        # of each the first oval's middle, lowest height
    outline = Outline(((500.0, 0.0, 0.0, 60.0, 60.0, 60.0, 60.0), (900.0, 0.0, 0.0, 60.0, 60.0, 60.0, 60.0)))
    shifts = []
    for side in (-1, 1):
        thigh = planes(person, outline, side)[0].solid
        shifts.append(np.array([muscle[0][0][:2] for muscle in thigh.muscles]) - built)          # type: ignore[attr-defined]
    assert all(len(np.unique(np.round(shift, 9), axis=0)) == len(THIGH) for shift in shifts)
    assert 0.01 < np.std(np.concatenate(shifts)) < 0.06 and not np.any(np.isclose(shifts[0], shifts[1]).all(axis=1))


def test_an_outline_is_closed_and_lies_in_its_box() -> None:
    shape = Outline(((0.0, 0.0, 0.0, 50.0, 40.0, 60.0, 30.0), (20.0, 0.0, 0.0, 50.0, 40.0, 60.0, 30.0)), (0.0, 0.2))
    x, y = np.meshgrid(np.arange(-120, 121.0), np.arange(-120, 121.0), indexing="ij")
    inside = shape.inside(x.astype(np.float32), y.astype(np.float32), np.full((1, 1), 10, np.float32))
    low, high = shape.box
    assert not np.any(inside & ((x < low[0]) | (x > high[0]) | (y < low[1]) | (y > high[1])))
    assert inside.sum() == pytest.approx(np.pi * 45 * 45, rel=0.1)


def test_lesions_are_in_three_people_of_ten_and_change_nothing_but_themselves() -> None:
    people = [sample_person((5, number)) for number in range(1, 121)]
    have = [any(isinstance(paint.solid, Lobed) for paint in lesions.lesions(person)) for person in people]
    assert 22 < sum(have) < 53              # 1 - 3/4 · 11/12 of 120 people is 38, standard deviation 5
    person = next(one for one, has in zip(people, have, strict=True) if has and lesions.leg_mass(one) is None)      # those may bulge
    low, high = next(paint.solid.box for paint in lesions.lesions(person) if isinstance(paint.solid, Lobed))
    affine = np.diag([4.0, 4.0, 4.0, 1.0])
    affine[:3, 3] = -260, -200, person.morph.height_mm(float(low[2] + high[2]) / 2) - 20
    grid = Grid((130, 110, 10), affine)
    whole, plain = (label_volume(person, grid, frozenset(without)).labels for without in ((), ("lesions",)))
    changed = {"tumour", "watery tumour", "fluid of a lesion", "bruise"}
    changed |= {"oedematous white matter", "grey matter", "cerebrospinal fluid", "muscle"}
    assert np.isin(whole[whole != plain], [label_of(name) for name in changed]).all()
    assert np.array_equal(whole > 0, plain > 0)


def test_two_prone_women_of_five_have_a_tumour_in_a_breast_that_stays_under_its_skin() -> None:
    women = [replace(sample_person((5, number)), sex="female", prone=True, age=50.0, own_breasts=False) for number in range(1, 81)]
    tumours = [[paint.solid for paint in lesions._of_the_breast(woman)] for woman in women]
    assert 20 < sum(map(bool, tumours)) < 44
    assert not any(lesions._of_the_breast(replace(woman, prone=False)) for woman in women)
    woman = next(one for one, solids in zip(women, tumours, strict=True) if solids)
    assert all(label_of("skin") not in paint.over for paint in lesions._of_the_breast(woman))


def test_a_large_tumour_is_of_several_tissues_and_its_water_several_times_as_bright_as_muscle_where_t2_is_weighed() -> None:
    rng = np.random.default_rng(0)
    whole = lobed(Ellipsoid((0.0, 0.0, 0.0), (45.0, 50.0, 80.0)), rng)
    affine = np.diag([3.0, 3.0, 3.0, 1.0])
    affine[:3, 3] = -150
    paints = [paint_of(Box((-400.0,) * 3, (400.0,) * 3), "muscle", Layer.MUSCLE), *lesions.of_a_sarcoma(whole, 95.0, rng)]
    labels = rasterise(pieces_of(paints), Grid((101, 101, 101), affine))
    mass = np.isin(labels, [label_of(name) for name in ("tumour", "watery tumour", "fluid of a lesion")])
    assert 0.7 < mass.sum() * 27 / (4 / 3 * np.pi * 45 * 50 * 80) < 1.4 and len(np.unique(labels[mass])) > 1
    bright = signals(TISSUES, Sequence("T2", "spin echo", 4500, 85, fat="suppressed"), 1.5)
    assert 4 < bright[label_of("watery tumour")] / bright[label_of("muscle")] < 7


BENT = [person for number in range(1, 41) if (person := sample_person((5, number))).morph.lift_mm > 60]


def test_bent_knees_stand_ahead_while_hips_heels_and_every_height_stay() -> None:
    bent = BENT[0]
    straight = replace(bent, morph=replace(bent.morph, lift_mm=0.0))
    assert landmarks(bent) == landmarks(straight)
    marks, ahead = landmarks(bent), []
    for height in (marks.sole + 30, marks.knee, marks.iliac_crest - 100):
        affine = np.diag([4.0, 4.0, 4.0, 1.0])
        affine[:3, 3] = -260, -200, height
        both = [label_volume(one, Grid((130, 110, 1), affine)).labels > 0 for one in (bent, straight)]
        ahead.append(4.0 * float(np.subtract(*(np.argwhere(body)[:, 1].mean() for body in both))))
    assert ahead[0] == ahead[2] == 0.0
    assert ahead[1] == pytest.approx(bent.morph.lift_mm * bent.morph.trunk[1], abs=4)
    assert 5 < len(BENT) < 30 and sample_person((5, 1), frozenset(["varied bodies"])).morph.lift_mm == 0.0


def test_a_leg_is_pressed_flat_where_someone_lies_on_it_and_round_in_plain_bodies() -> None:
    """Of a leg that is pressed the lowest centimetre is wide; a circle of 16 cm is 78 mm wide 1 cm above its lowest point."""
    def underside(without: frozenset[str]) -> float:
        widths = []
        for number in range(1, 9):
            body = section(number, 0.95, without) > 0
            low = int(np.argwhere(body)[:, 1].min())
            widths.append(2.0 * float(body[:, low + 1].sum()))
        return float(np.mean(widths))

    plain = frozenset(["varied bodies", "deformation", "lesions"])
    assert underside(plain - {"varied bodies"}) > 1.3 * underside(plain)


def test_a_large_tumour_of_a_thigh_bulges_it_under_skin_and_stays_on_its_side() -> None:
    person = sample_person((5, 1), PLAIN)
    mass = lobed(Ellipsoid((130.0, 0.0, 690.0), (50.0, 50.0, 70.0)), np.random.default_rng(0))
    skin, fat, muscle = (one.solid.box for one in lesions._bulge(person, mass))
    assert skin[1, 0] > fat[1, 0] > muscle[1, 0] > 180.0
    inside = np.array([skin, fat, muscle])[:, 0, 0]
    assert (inside <= 130.0).all()
    near = lobed(Ellipsoid((30.0, 0.0, 690.0), (50.0, 50.0, 70.0)), np.random.default_rng(0))
    assert all(one.solid.box[0, 0] < 0 and not one.solid.inside(np.float32(-5), np.float32(0), np.float32(690))
               for one in lesions._bulge(person, near))


def test_menisci_are_rings_that_the_middle_of_each_condyle_looks_through() -> None:
    """Over the middle of a condyle there is cartilage; 20 mm behind it the wedge, which is dark."""
    person = sample_person((5, 2), frozenset(["varied bodies", "deformation", "lesions"]))
    for x in (75.0, 121.0):
        for y, dark in ((-8.0, False), (-25.0, True)):
            ((at, *_),) = limbs.placed(person, 1, ((x, y, 472.0),))
            affine = np.diag([1.0, 1.0, 0.5, 1.0])
            affine[:3, 3] = at, y, 470.5
            labels = rasterise(pieces_of(anatomy(person)), Grid((1, 1, 6), affine)).ravel()
            assert bool((labels == label_of("tendon")).any()) == dark
