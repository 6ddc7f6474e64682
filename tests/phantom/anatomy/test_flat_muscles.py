"""The muscle of the abdominal wall ends where it does in people, and nothing else changes for it."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from fovnet.phantom.anatomy.body import label_volume, landmarks
from fovnet.phantom.anatomy.flat_muscles import draw_wall_gaps, paint_wall_gaps
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.traits import Person, sample_person
from fovnet.phantom.scanner.tissues import label_of

WALLS = frozenset({"open walls"})
PLAIN = frozenset({"varied bodies", "deformation", "lesions", "tissue structure", "masses in legs"})
PAIRS = tuple(
    (sample_person((8, number), PLAIN), sample_person((8, number), PLAIN | WALLS))
    for number in range(6)
)
STEP_MM = 1.5


@cache
def cuts(person: Person) -> NDArray[np.integer]:
    """The labels of two axial cuts of the trunk without arms' reach, 30 and 40 mm above the crest: x from
    -198 to 198 mm, y from back to front."""
    grid = np.diag([STEP_MM, STEP_MM, 10.0, 1.0])
    grid[:3, 3] = (-198.0, -150.0, landmarks(person).iliac_crest + 30.0)
    return label_volume(person, Grid((265, 230, 2), grid), PLAIN).labels


def thin_places(labels: NDArray[np.integer]) -> int:
    """How many stretches of the front wall, within 10 cm of the middle, have no more than 6 mm of muscle."""
    muscle = (labels == label_of("muscle")) | (labels == label_of("intermuscular fat"))
    muscle[:, :105] = False  # y below 7.5 mm: loin and back
    thick_mm = ndimage.median_filter(STEP_MM * muscle.sum(axis=1), 3)
    within = np.abs(-198.0 + STEP_MM * np.arange(265)) < 100.0
    return int(ndimage.label((thick_mm <= 6.0) & within)[1])


def test_a_cut_above_the_crest_shows_straight_and_flat_muscles_apart() -> None:
    """The white line and a sheet at either side of it; nowhere in a closed wall."""
    pairs = [pair for pair in PAIRS if pair[0].arm_posture != "folded"]
    open_, closed = (
        [thin_places(cuts(person)[:, :, 1]) for person in people]
        for people in zip(*pairs, strict=True)
    )
    assert len(pairs) >= 4 and np.median(open_) == 3 and max(closed) == 0, (open_, closed)


def test_nothing_but_muscle_gives_way_and_only_to_fat() -> None:
    fat = [label_of(name) for name in ("fat", "visceral fat")]
    for person, closed in PAIRS[:4]:
        opened, other = (cuts(each)[:, :, 0] for each in (person, closed))
        changed = opened != other
        assert changed.mean() > 0.002
        assert np.isin(opened[changed], fat).all()
        assert np.isin(other[changed], [label_of("muscle"), label_of("intermuscular fat")]).all()


def test_the_widths_are_those_of_people() -> None:
    """White lines of 7 ± 5 to 13 ± 7 mm in women who have borne no child (Beer et al. (2009), Clin Anat
    22:706)."""
    gaps = [draw_wall_gaps(sample_person((9, number))) for number in range(300)]
    middle = np.array([gap.linea_alba_mm for gap in gaps])
    assert middle.min() >= 2 and middle.max() <= 30 and 7 < np.median(middle) < 14
    assert all(
        1 <= gap.sheet_mm <= 4
        and 2 <= gap.lateral_gap_mm <= 45
        and -70 <= gap.posterior_end_y <= -5
        for gap in gaps
    )


def test_no_landmark_moves_and_without_it_the_wall_is_closed() -> None:
    for person, closed in PAIRS:
        assert landmarks(person) == landmarks(closed) and draw_wall_gaps(person) == draw_wall_gaps(
            person
        )
        assert (
            person.has_open_wall
            and not closed.has_open_wall
            and list(paint_wall_gaps(closed)) == [] != list(paint_wall_gaps(person))
        )
