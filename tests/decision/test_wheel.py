"""The wheel: small, whole, and enough to answer where there is no network and no clone."""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import nibabel
import numpy as np
import pytest

from fovnet.decision import orientation
from fovnet.decision.folder import FACTS_FILE_NAME
from fovnet.decision.shipped import export_run
from fovnet.records import read_tsv
from fovnet.results import SHIPPED_NETWORKS, Results

ROOT = Path(__file__).parents[2]
MOST_BYTES = 26_000_000  # of them 12 MB of people.npz
NO_NETWORK = """
import sys

def refused(event, given):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "socket.sendmsg"):
        raise SystemExit(f"{event}: {given}")

sys.addaudithook(refused)
"""


@pytest.fixture(scope="module")
def wheel(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made from a copy of the clone; where that has no networks to ship, with the two of the fixture."""
    clone, out = tmp_path_factory.mktemp("clone"), tmp_path_factory.mktemp("dist")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, clone)
    shutil.copytree(ROOT / "fovnet", clone / "fovnet", ignore=shutil.ignore_patterns("__pycache__"))
    if not (SHIPPED_NETWORKS / FACTS_FILE_NAME).is_file():
        export_run(Results(finished), clone / SHIPPED_NETWORKS.relative_to(ROOT))
    line = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        str(clone),
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "--wheel-dir",
        str(out),
    ]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    (made,) = out.glob("fovnet-*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with nothing but the wheel in it, which borrows this one's libraries and
    cannot use a socket."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    (packages / "borrowed.pth").write_text("\n".join(site.getsitepackages()))
    (packages / "sitecustomize.py").write_text(NO_NETWORK)
    return folder / "bin" / "python"


def run(python: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [str(python), *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )


@pytest.mark.slow
def test_the_wheel_is_small_and_holds_networks_and_templates(wheel: Path) -> None:
    assert wheel.stat().st_size <= MOST_BYTES
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    templates = ROOT / "fovnet" / "report" / "pages" / "templates"
    wanted = {path.relative_to(ROOT).as_posix() for path in templates.iterdir() if path.is_file()}
    wanted |= {path.relative_to(ROOT).as_posix() for path in (ROOT / "fovnet").rglob("*.py")} | {
        "fovnet/py.typed"
    }
    wanted |= {
        f"fovnet/decision/shipped/{name}"
        for name in (FACTS_FILE_NAME, "decision.json", "novelty.npz", "model-card.md", "SHA256SUMS")
    }
    wanted |= {f"fovnet/decision/shipped/{orientation.ORIENTATION_FILE_NAME}"}
    assert wanted <= held, wanted - held
    assert sum(name.startswith("fovnet/decision/shipped/member-") for name in held) >= 2


@pytest.mark.slow
def test_installed_it_answers_without_a_network(installed: Path, tmp_path: Path) -> None:
    voxels = np.random.default_rng(3).integers(0, 900, (16, 14, 12)).astype(np.int16)
    nibabel.save(
        nibabel.Nifti1Image(voxels, np.diag([20.0, 20.0, 30.0, 1.0])), tmp_path / "scan.nii.gz"
    )
    blocked = run(
        installed, tmp_path, "-c", "import socket; socket.create_connection(('127.0.0.1', 9))"
    )
    assert blocked.returncode == 1 and "socket." in blocked.stderr, (
        "the test itself would not notice"
    )
    done = run(
        installed,
        tmp_path,
        "-m",
        "fovnet",
        "predict",
        "scan.nii.gz",
        "--out",
        "answers",
        "--no-pictures",
        "--device",
        "cpu",
    )
    assert done.returncode == 0, done.stderr[-3000:]
    rows = read_tsv(tmp_path / "answers" / "spans.tsv")
    assert {row["volume_id"] for row in rows} == {"scan"} and rows[0]["status"] in (
        "ok",
        "partly",
        "uncertain",
    )
    assert (tmp_path / "answers" / "pages" / "scan.html").is_file(), "templates are there too"


def test_a_script_beside_a_clone_imports_the_package_and_not_the_clones_folder(
    tmp_path: Path,
) -> None:
    """Python looks first where the script lies, and a folder called fovnet there could be taken for the
    package: it has no `load`."""
    (tmp_path / "fovnet").symlink_to(ROOT)
    (tmp_path / "script.py").write_text("import fovnet; print(fovnet.load)")
    done = subprocess.run(
        [sys.executable, tmp_path / "script.py"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and done.stdout.startswith("<function load"), done.stderr
