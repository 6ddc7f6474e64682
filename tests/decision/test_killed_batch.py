"""A batch of simulated volumes, faults planted among them, predicted by a process that is killed twice: in
the end nothing shows it.

100 volumes; with FOVNET_LARGE=1 in the environment 1,000.
"""

from __future__ import annotations

import gzip
import multiprocessing
import os
import runpy
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

import nibabel
import numpy as np
import pytest

from fovnet.phantom.oddities import BRIGHT_SEQUENCES, WATER_TISSUES
from fovnet.phantom.scanner.scan import Acquisition, LabelVolume, scan
from fovnet.records import read_json, read_tsv

VOLUMES = 1000 if os.environ.get("FOVNET_LARGE") == "1" else 100
EVERY = 10  # one in so many is broken
DISTINCT = 25
LIMIT_S = 900

Make = Callable[[nibabel.Nifti1Image], bytes]


def changed(voxels: np.ndarray, affine: np.ndarray) -> bytes:
    return nibabel.Nifti1Image(voxels, affine).to_bytes()


def without_affine(image: nibabel.Nifti1Image) -> bytes:
    """NaN as the first number of the scanner's affine (srow_x, byte 280 of a NIfTI-1 header)."""
    good = image.to_bytes()
    return good[:280] + np.float32(np.nan).tobytes() + good[284:]


FAULTS: dict[str, tuple[str, Make]] = {
    "truncated": ("volume-truncated", lambda image: gzip.compress(image.to_bytes())[:-900]),
    "no-affine": ("volume-geometry", without_affine),
    "ct": (
        "volume-ct",
        lambda image: changed((np.asarray(image.dataobj) - 1000).astype(np.int16), image.affine),
    ),
    "rgb": (
        "volume-rgb",
        lambda image: changed(
            np.zeros(image.shape, np.dtype([("R", "u1"), ("G", "u1"), ("B", "u1")])), image.affine
        ),
    ),
    "empty": ("volume-empty", lambda image: b""),
    "text": ("volume-format", lambda image: b"an index of the volumes in this folder"),
    "labels": (
        "volume-labels",
        lambda image: changed(
            (np.indices((40, 40, 40)).sum(axis=0) // 20).astype(np.uint8), image.affine
        ),
    ),
    "constant": (
        "volume-constant",
        lambda image: changed(np.full(image.shape, 7, np.int16), image.affine),
    ),
    "complex": (
        "volume-complex",
        lambda image: changed(np.ones(image.shape, np.complex64), image.affine),
    ),
    "one-plane": (
        "volume-shape",
        lambda image: changed(np.asarray(image.dataobj)[:1], image.affine),
    ),
}


def small(number: int) -> nibabel.Nifti1Image:
    """A bottle of water in a coarse scan."""
    rng = np.random.default_rng(number)
    affine = np.diag([12.0, 12.0, 12.0, 1.0])
    x, y, z = np.indices((20, 18, 9)) - np.array([10, 9, 4])[:, None, None, None]
    inside = (x / 7) ** 2 + (y / rng.uniform(4, 8)) ** 2 + (z / rng.uniform(2, 6)) ** 2 < 1
    volume = scan(
        LabelVolume(inside.astype(np.uint8), affine),
        BRIGHT_SEQUENCES[number % len(BRIGHT_SEQUENCES)],
        Acquisition(snr=20.0),
        rng,
        WATER_TISSUES,
        "bottle",
    )
    return nibabel.Nifti1Image(np.rint(volume.voxels).astype(np.int16), affine)


@pytest.fixture(scope="module")
def incoming(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The folder, and the code of every volume that has to be refused."""
    folder, expected = tmp_path_factory.mktemp("incoming"), {}
    images = [small(number) for number in range(DISTINCT)]
    good = [gzip.compress(image.to_bytes(), 1) for image in images]
    kinds = list(FAULTS)
    for number in range(VOLUMES):
        if number % EVERY == EVERY // 2:
            kind = kinds[number // EVERY % len(kinds)]
            code, make = FAULTS[kind]
            (
                folder / f"v{number:04d}-{kind}.nii{'.gz' if kind == 'truncated' else ''}"
            ).write_bytes(make(images[number % DISTINCT]))
            expected[f"v{number:04d}-{kind}"] = code
        else:
            (folder / f"v{number:04d}.nii.gz").write_bytes(good[number * 7 % DISTINCT])
    return folder, expected


FORKED = multiprocessing.get_context("forkserver")
# torch read once for all
FORKED.set_forkserver_preload(
    ["fovnet.decision.predict", "fovnet.net.inference.member_outputs", "fovnet.net.family.weights"]
)


def begin(incoming: Path, model: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> BaseProcess:
    """`fovnet predict` in a process of its own."""
    words = [
        "predict",
        incoming,
        "--model",
        model,
        "--out",
        out,
        "--no-pictures",
        "--no-pages",
        "--device",
        "cpu",
    ]
    with monkeypatch.context() as here:
        here.setattr(sys, "argv", ["fovnet", *map(str, words)])
        running = FORKED.Process(
            target=runpy.run_module, args=("fovnet",), kwargs={"run_name": "__main__"}
        )
        running.start()
    return running


def answered(out: Path) -> int:
    return len(list(out.glob("*.json")))


def killed_after(count: int, running: BaseProcess, out: Path) -> None:
    """SIGKILL as soon as so many answers lie there."""
    until = time.monotonic() + LIMIT_S
    while answered(out) < count:
        assert running.is_alive() and time.monotonic() < until
        time.sleep(0.03)
    running.kill()
    running.join()
    assert running.exitcode == -signal.SIGKILL


@pytest.mark.slow
def test_a_batch_killed_twice_ends_as_one_that_was_not(
    incoming: tuple[Path, dict[str, str]],
    finished: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder, expected = incoming
    model, whole, broken = finished / "ensemble", tmp_path / "whole", tmp_path / "killed"
    first, second = sorted(
        np.random.default_rng(VOLUMES).choice(np.arange(1, VOLUMES // 2), 2, replace=False).tolist()
    )
    for count in (first, second):
        killed_after(count, begin(folder, model, broken, monkeypatch), broken)
        assert answered(broken) < VOLUMES and not (broken / "spans.tsv").exists()
    kept = {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in broken.glob("*.json")}
    for out in (broken, whole):
        running = begin(folder, model, out, monkeypatch)
        running.join(LIMIT_S)
        assert running.exitcode == 3
    assert all(
        (path.stat().st_mtime_ns, path.stat().st_ino) == before for path, before in kept.items()
    ), "answered again"
    check_table(broken, expected)
    contents = [
        {path.name: path.read_bytes() for path in out.iterdir() if path.suffix != ".part"}
        for out in (whole, broken)
    ]
    assert contents[0] == contents[1]


def check_table(out: Path, expected: dict[str, str]) -> None:
    rows = read_tsv(out / "spans.tsv")
    status: dict[str, set[str]] = {}
    for row in rows:
        status.setdefault(row["volume_id"], set()).add(row["status"])
    assert len(status) == VOLUMES and all(len(states) == 1 for states in status.values())
    assert {name for name, states in status.items() if states == {"refused"}} == set(expected)
    assert {name: read_json(out / f"{name}.json")["code"] for name in expected} == expected
    spans = [(row["volume_id"], row["region"]) for row in rows]
    assert len(spans) == len(set(spans)), "a volume stands twice in the table"
