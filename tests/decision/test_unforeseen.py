"""Whatever exception a volume raises, at whatever stage, is its own refusal: the batch goes on, and says
where the traceback is.

Every other volume raises; its name says at which stage, and what: every stage and fault once.  Processes that
read ahead are started anew and share nothing with this one but the environment: there, Python's
`sitecustomize` puts the same faults in place.
"""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import nibabel
import numpy as np
import pytest
from typer.testing import CliRunner

from fovnet.cli import app
from fovnet.decision.model import load_model
from fovnet.records import read_json, read_tsv, write_tsv

READING = ("find", "now", "read", "orient", "cut")
LATER = ("classify", "decide", "rows", "facts", "draw", "json")
FAULTS = ("ZeroDivisionError", "KeyError", "RecursionError", "StopIteration", "Odd")
RAISING = list(product((*READING, *LATER), FAULTS))

FAULTY = '''
import builtins
from pathlib import Path

class Odd(Exception):
    """One that cannot be sent to another process."""
    def __init__(self):
        super().__init__(lambda: None)

def guarded(real, stage, name_of):
    """`real`, but a volume whose name begins with this stage raises what the name says next."""
    def call(*given, **named):
        words = name_of(*given).split("-")
        if words[0] == stage:
            raise getattr(builtins, words[1], Odd)()
        return real(*given, **named)
    return call

def put_in_place(replace):
    import fovnet.volume.slices.stack as slices
    def by_path(source): return source.path.name
    def by_source(volume, *_): return Path(volume.source).name
    replace(slices.Source, "look_again", guarded(slices.Source.look_again, "now", by_path))
    replace(slices, "read", guarded(slices.read, "read", by_path))
    replace(slices, "to_ras", guarded(slices.to_ras, "orient", by_source))
    replace(slices, "cut_slices", guarded(slices.cut_slices, "cut", by_source))
'''
IN_A_WORKER = """
import sys
if "--multiprocessing-fork" in sys.orig_argv:
    put_in_place(setattr)
"""

VOLUMES = 200  # every stage raises every fault at least once


@pytest.fixture
def faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All faults in place, here and in processes begun from here."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(FAULTY + IN_A_WORKER)
    monkeypatch.setenv("PYTHONPATH", f"{site}:{Path(__file__).parents[2]}")
    from fovnet.decision.ensemble import Ensemble
    from fovnet.decision.judge import Judge
    from fovnet.report.pages import predictions
    from fovnet.volume.sources.kind import FileKind

    known: dict = {}
    exec(FAULTY, known)
    known["put_in_place"](monkeypatch.setattr)
    places = (
        (FileKind, "looks_like_dicom", "find", lambda kind: kind.path.name),
        (Ensemble, "compute_volume_outputs", "classify", lambda _, stack: Path(stack.source).name),
        (Judge, "answer", "decide", lambda _, volume_id, *__: volume_id),
        (predictions, "table_rows", "rows", lambda given, _: given.volume_id),
        (predictions, "answer_facts", "facts", lambda given, *_: given.volume_id),
        (predictions, "_write_drawings", "draw", lambda _, one, *__: one.answer.volume_id),
        (predictions, "write_json", "json", lambda path, *_: path.name),
    )
    for home, name, stage, name_of in places:
        monkeypatch.setattr(home, name, known["guarded"](getattr(home, name), stage, name_of))


@pytest.fixture
def incoming(tmp_path: Path) -> Path:
    folder = tmp_path / "incoming"
    folder.mkdir()
    for number in range(VOLUMES):
        stage, fault = ("sound", "") if number % 2 else RAISING[number // 2 % len(RAISING)]
        voxels = np.random.default_rng(number).integers(0, 900, (7, 6, 5)).astype(np.int16)
        nibabel.Nifti1Image(voxels, np.diag([6.0, 6.0, 6.0, 1.0])).to_filename(
            folder / f"{stage}-{fault}-{number:03d}.nii"
        )
    return folder


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_every_volume_gets_its_row_whatever_raises_at_whatever_stage(
    faults: None, incoming: Path, finished: Path, tmp_path: Path, workers: int
) -> None:
    out = tmp_path / "out"
    line = [
        "predict",
        str(incoming),
        "--model",
        str(finished / "ensemble"),
        "--out",
        str(out),
        "--no-pictures",
        "--no-pages",
    ]
    done = CliRunner().invoke(app, [*line, "--device", "cpu", "--workers", str(workers)])
    assert done.exit_code == 3, done.output[-2000:]
    rows = {row["volume_id"]: row for row in read_tsv(out / "spans.tsv")}
    assert len(rows) == VOLUMES
    for name, row in rows.items():
        stage, fault, _ = name.split("-")
        if stage in ("sound", "find"):  # what cannot be told from a first look is read
            assert row["status"] != "refused"
            continue
        assert (row["status"], row["code"]) == ("refused", "internal") and f"({fault})" in row[
            "message"
        ], (
            name,
            row,
        )
        log = Path(re.search(r"is in (\S+\.log);", row["message"])[1])
        assert fault in log.read_text() and log.stat().st_mode & 0o077 == 0
        # these raise for the refusal too: the table alone has it
        if stage not in ("rows", "facts", "json"):
            assert read_json(out / f"{name}.json")["code"] == "internal"
    logs = {
        re.search(r"is in (\S+\.log);", row["message"])[1]
        for row in rows.values()
        if row["code"] == "internal"
    }
    assert len(logs) <= workers * len(RAISING)  # a log for equal tracebacks, in each process
    for log in logs:
        Path(log).unlink()


def test_they_are_answered_in_the_next_run_as_if_nothing_had_been(
    incoming: Path, finished: Path, tmp_path: Path
) -> None:
    chosen = map(str, sorted(incoming.iterdir())[::10])
    line = [
        "predict",
        *chosen,
        "--model",
        str(finished / "ensemble"),
        "--no-pictures",
        "--no-pages",
        "--device",
        "cpu",
        "--out",
    ]
    assert CliRunner().invoke(app, [*line, str(tmp_path / "at once")]).exit_code == 0
    with pytest.MonkeyPatch.context() as faulty:
        from fovnet.decision.judge import Judge

        faulty.setattr(Judge, "answer", lambda *_: 1 / 0)
        assert CliRunner().invoke(app, [*line, str(tmp_path / "out")]).exit_code == 3
    assert CliRunner().invoke(app, [*line, str(tmp_path / "out")]).exit_code == 0
    assert (tmp_path / "out" / "spans.tsv").read_bytes() == (
        tmp_path / "at once" / "spans.tsv"
    ).read_bytes()


def test_python_gets_the_same(faults: None, incoming: Path, finished: Path) -> None:
    chosen = sorted(incoming.iterdir())[::10]
    for one in load_model(finished / "ensemble", device="cpu").predict_many(chosen):
        stage = one.volume_id.split("-")[0]
        assert (one.code == "internal") == (stage in (*READING[1:], "classify", "decide")), (
            one.volume_id
        )


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_collection_is_sliced_but_for_them(
    faults: None, incoming: Path, tmp_path: Path, workers: int
) -> None:
    from fovnet.volume.collection.pack import slice_collections

    paths = sorted(incoming.iterdir())[::3]
    rows = [{"volume_id": path.stem, "subject_id": path.stem, "path": path.name} for path in paths]
    write_tsv(incoming / "volumes.tsv", tuple(rows[0]), rows)
    pack = slice_collections({"clinic": incoming}, tmp_path / "slices", seed=1, workers=workers)
    assert [one.volume_id for one in pack.records] == [path.stem for path in paths]
    for one in pack.records:
        assert (one.code == "internal") == (
            one.volume_id.split("-")[0] in ("read", "orient", "cut")
        ), one
