"""A few small volumes, answers on them, and tables that list them."""

from __future__ import annotations

from pathlib import Path

import nibabel
import numpy as np
import pytest

from fovnet.decision.answer import SPANS_TABLE_COLUMNS
from fovnet.label.desk import Action, Desk
from fovnet.label.starts import gather_items
from fovnet.records import checksum, write_json, write_tsv
from fovnet.regions import DEFAULT

NAMES = ("sub-1_a", "sub-1_b", "sub-2_a", "z<script>alert(1)<")
SLICES = 24
SEEN = ("abdomen", 4, 19)
SESSION, OTHER = "0" * 16, "f" * 16


def affine() -> np.ndarray:
    """Of volumes of slices of 5 mm, the lowest edge at -10 mm."""
    made = np.diag([10.0, 10.0, 5.0, 1.0])
    made[2, 3] = -7.5
    return made


@pytest.fixture(scope="session")
def volumes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with volumes.tsv, of volumes of 24 slices of 5 mm, the lowest edge at -10 mm."""
    folder = tmp_path_factory.mktemp("volumes")
    rng, rows = np.random.default_rng(1), []
    for number, name in enumerate(NAMES):
        voxels = rng.integers(100, 200, (20, 16, SLICES)).astype(np.int16)
        voxels[:3], voxels[:, :3] = 0, 0
        nibabel.save(nibabel.Nifti1Image(voxels, affine()), folder / f"{name}.nii.gz")
        person = f"s{number // 2}"
        rows.append(
            {"volume_id": name, "subject_id": person, "path": f"{name}.nii.gz", "site": "A"}
        )
    write_tsv(folder / "volumes.tsv", tuple(rows[0]), rows)
    return folder


@pytest.fixture(scope="session")
def answers(volumes: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of an answers folder what a labelling reads; `test_starts.py` reads one of `fovnet predict`."""
    out, rows = tmp_path_factory.mktemp("answers"), []
    for name in NAMES:
        path = str(volumes / f"{name}.nii.gz")
        rows.append({"volume_id": name, "path": path, "status": "partly", "region": SEEN[0]})
        facts = {
            "volume_id": name,
            "path": path,
            "status": "partly",
            "message": "two answers are nearly equal",
            "spans": [dict(zip(("region", "first_slice", "last_slice"), SEEN, strict=True))],
            "statements": [{"region": SEEN[0], "probability": 0.6}],
            "agreement": 0.9,
            "novelty": 0.2,
            "covers": [[at, at] for at in range(SLICES)],
            "counted_slices": None,
            "checksum": checksum(volumes / f"{name}.nii.gz"),
            "z_mm": [-7.5 + 5 * at for at in range(SLICES)],
            "vox_to_ras": affine().tolist(),
        }
        write_json(out / f"{name}.json", facts)
    write_tsv(out / "spans.tsv", SPANS_TABLE_COLUMNS, rows)
    return out


@pytest.fixture
def desk(volumes: Path, answers: Path, tmp_path: Path):
    """Opens a desk on a folder of its own; any number of them, as processes would."""
    opened = []

    def made(reader: str = "anna", *, starts: tuple[Path, ...] = (answers, volumes), **how) -> Desk:
        how.setdefault("order", "listed")
        out = how.pop("out", tmp_path / "labels")
        opened.append(Desk(out, gather_items(starts, DEFAULT), DEFAULT, reader=reader, **how))
        return opened[-1]

    yield made
    for one in opened:
        one.close()


@pytest.fixture
def act():
    """Does something to a volume, as the page would: knowing its revision."""

    def done(desk: Desk, index: int, what: str, *extents, session: str = SESSION, words=None):
        desk.apply_action(session, index, Action("shown", 0))
        label = extents if what in ("edit", "done") else None
        return desk.apply_action(session, index, Action(what, desk.revision(index), label, words))

    return done
