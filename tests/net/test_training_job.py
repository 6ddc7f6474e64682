"""What a search depends on: where any of it changes, another journal is begun."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from fovnet.net.training_job import training_fingerprint
from fovnet.volume.pack import Pack


def test_the_same_slices_under_another_name_are_learned_anew(tmp_path: Path) -> None:
    """Networks carry the names of their classes, and an ensemble refuses those of others: trials under the old ones are of no use to it."""
    for name in ("pixels.npy", "slices.npz"):
        (tmp_path / name).write_bytes(name.encode())
    nothing = np.zeros((0, 3))
    pack = Pack(tmp_path, ("legs", "pelvis", "none"), nothing.astype(np.uint8), nothing[:, 0].astype(np.int64), nothing[:, 0],
                nothing[:, :2].astype(np.int64), nothing.astype(bool), (), {})
    renamed = replace(pack, classes=("legs", "hips", "none"))
    assert training_fingerprint(renamed) != training_fingerprint(pack) == training_fingerprint(replace(pack, looks={}))
