"""An arm is in no region: alone, it is seen and nothing else."""

from __future__ import annotations

import numpy as np

from fovnet.phantom.acquisition.limb_alone import draw_arm_plan, label_arms
from fovnet.phantom.acquisition.protocols import SITES
from fovnet.phantom.anatomy.body import label_volume, landmarks
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.traits import sample_person
from fovnet.phantom.scanner.tissues import AIR

PERSON = sample_person((4, 2))
MARKS = landmarks(PERSON)


def test_an_arm_alone_is_seen_and_nothing_else() -> None:
    acquired = draw_arm_plan(PERSON, MARKS, SITES[0], np.random.default_rng(5))
    grid = Grid(
        (16, 16, 16),
        acquired.grid.vox_to_ras @ np.diag([*(np.asarray(acquired.grid.shape) / 16), 1.0]),
    )
    arm, body = label_arms(PERSON, grid).labels != AIR, label_volume(PERSON, grid).labels != AIR
    assert 0 < arm.sum() <= body.sum() and np.all(body[arm])
