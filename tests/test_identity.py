"""Nobody's name in what is written: a rare one is planted, and every file of the road from volumes to report
is searched for it."""

from __future__ import annotations

import gzip
import hashlib
import hmac
import io
import zipfile
from pathlib import Path

import nibabel
import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis.strategies import binary, text
from typer.testing import CliRunner

from fovnet.cli import app
from fovnet.errors import ConfigError
from fovnet.records import read_tsv, write_tsv
from fovnet.volume.collection.identity import (
    HASH_DIGITS,
    KEY_FILE_NAME,
    Identifiers,
    hide_names,
    read_identifiers,
)
from fovnet.volume.collection.pack import load_pack

NAME, DAY = "ZWETSCHKENBAUM", "19471103"
SUBJECTS = 12


def person(path: Path, seed: int) -> None:
    """A volume whose header tells the name in every field of free text there is, and in an extension."""
    rng = np.random.default_rng(seed)
    image = nibabel.Nifti1Image(
        rng.integers(0, 900, (9, 8, 12)).astype(np.int16), np.diag([8.0, 8.0, 12.0, 1.0])
    )
    for field in ("descrip", "db_name", "aux_file", "intent_name"):
        image.header[field] = f"{NAME} {DAY}"[: image.header[field].dtype.itemsize or 16]
    image.header.extensions.append(
        nibabel.nifti1.Nifti1Extension("comment", f"{NAME} {DAY}".encode())
    )
    nibabel.save(image, path)


@pytest.fixture(scope="module")
def cohort(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Labelled volumes of twelve people called by name and birthday in subject_id alone; one cannot be
    read."""
    folder = tmp_path_factory.mktemp("cohort")
    rows, labels = [], []
    for number in range(SUBJECTS):
        person(folder / f"v{number:02d}.nii", number)
        rows.append(
            {
                "volume_id": f"v{number:02d}",
                "subject_id": f"{NAME}-{DAY}-{number}",
                "path": f"v{number:02d}.nii",
            }
        )
        labels.append(
            {
                "volume_id": f"v{number:02d}",
                "region": "head" if number % 2 else "legs",
                "first_slice": 0,
                "last_slice": 11,
            }
        )
    (folder / "v03.nii").write_bytes((folder / "v03.nii").read_bytes()[:500])
    write_tsv(folder / "volumes.tsv", list(rows[0]), rows)
    write_tsv(folder / "regions.tsv", list(labels[0]), labels)
    return folder


def run(*words: str | Path, status: int = 0) -> str:
    done = CliRunner().invoke(app, list(map(str, words)))
    assert done.exit_code == status, (done.output[-3000:], done.exception)
    return done.output


def settings(folder: Path, cohort: Path, **changes: object) -> Path:
    """A configuration of seconds: one network of one block, one epoch."""
    start = {
        "blocks": 4,
        "convolutions": 1,
        "log2_filters": 2,
        "kernel": 3,
        "separable": False,
        "log10_learning_rate": -3,
        "log2_batch": 5,
    }
    raw = {
        "results": str(folder / "results"),
        "seed": 3,
        "collections": {"cohort": str(cohort)},
        "training": {"epochs": 1, "slices_per_epoch": 64, "head": "gap", "device": "cpu"},
        "search": {
            "method": "random",
            "trials": 1,
            "start": start,
            "space": {name: [level] for name, level in start.items()},
        },
        "ensemble": {"members": 1},
        "evaluate": {"bootstrap": 100},
        **changes,
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(raw))
    return folder / "config.yaml"


def unpacked(path: Path) -> bytes:
    """What a file holds, archives opened."""
    content = path.read_bytes()
    if content[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return content + b"".join(archive.read(name) for name in archive.namelist())
    return content + (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else b"")


def naming(folder: Path, words: tuple[str, ...]) -> set[str]:
    """The files below a folder in whose content or name one of the words stands, in any of the usual
    encodings."""
    spellings = [
        word.encode(code) for word in words for code in ("utf-8", "utf-16-le", "utf-32-le")
    ]
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return {
        path.name
        for path in files
        if any(
            one in unpacked(path) or word in str(path.relative_to(folder))
            for one in spellings
            for word in words
        )
    }


@pytest.mark.slow
def test_a_planted_name_is_in_no_file_from_slices_to_report(cohort: Path, tmp_path: Path) -> None:
    # it can be found
    assert naming(cohort, (NAME, DAY)) == {
        "volumes.tsv",
        *(f"v{number:02d}.nii" for number in range(SUBJECTS)),
    }
    config, results = settings(tmp_path, cohort), tmp_path / "results"
    output = run("slice", "--config", config, status=3)
    for verb in ("search", "ensemble", "tune", "decide", "evaluate", "report"):
        output += run(verb, "--config", config)
    volumes = cohort / "v00.nii", cohort / "v03.nii"
    output += run(
        "predict",
        *volumes,
        "--model",
        results / "ensemble",
        "--out",
        tmp_path / "answers",
        status=3,
    )
    assert (results / "report.html").stat().st_size > 10_000 and (
        tmp_path / "answers" / "v00.png"
    ).exists()
    assert naming(tmp_path, (NAME, DAY)) == set()
    assert NAME not in output and DAY not in output
    working = read_tsv(results / "slices" / "manifest.tsv")
    shown = {row["shown_id"]: row["volume_id"] for row in working}
    reported = [row["volume_id"] for row in read_tsv(results / "evaluation" / "volumes.tsv")]
    assert reported and {shown[name] for name in reported} <= {row["volume_id"] for row in working}
    page = (results / "report.html").read_text()
    assert not any(
        f">{row['volume_id']}<" in page or f"{row['volume_id']}.nii" in page for row in working
    )
    (refused,) = (row for row in working if row["status"] == "refused")
    assert (
        "Volumes are named by hashes" in page
        and refused["shown_id"] in page
        and refused["path"] in refused["message"]
    )


def test_plain_ids_are_written_when_asked_for_and_the_splits_are_the_same(
    cohort: Path, tmp_path: Path
) -> None:
    splits = {}
    for how in ("hashed", "plain"):
        (tmp_path / how).mkdir()
        run("slice", "--config", settings(tmp_path / how, cohort, identifiers=how), status=3)
        pack = load_pack(tmp_path / how / "results" / "slices")
        splits[how] = {record.volume_id: record.split for record in pack.records}
        plain = all(
            record.subject_id == f"{NAME}-{DAY}-{int(record.volume_id[1:])}"
            for record in pack.records
        )
        assert plain == (how == "plain")
        assert all(
            (record.name_in_reports == record.volume_id) == (how == "plain")
            for record in pack.records
        )
    assert splits["plain"] == splits["hashed"] and set(splits["plain"].values()) == {
        "train",
        "validation",
        "test",
        "",
    }


def test_a_key_makes_other_names_and_the_same_key_the_same(tmp_path: Path) -> None:
    plain, without = read_identifiers("plain", tmp_path), read_identifiers("hashed", tmp_path)
    (tmp_path / KEY_FILE_NAME).write_bytes(b"secret\n")
    keyed = read_identifiers("hashed", tmp_path)
    assert plain.written_id("p01") == "p01"
    assert without.written_id("p01") == hashlib.sha256(b"p01").hexdigest()[:12]
    assert keyed.written_id("p01") == hmac.digest(b"secret", b"p01", "sha256").hex()[:12]


def test_a_key_of_nothing_protects_nobody_and_is_refused(tmp_path: Path) -> None:
    (tmp_path / KEY_FILE_NAME).write_bytes(b" \n")
    with pytest.raises(ConfigError, match="identifiers-key"):
        read_identifiers("hashed", tmp_path)


@given(text(max_size=40), text(max_size=40), binary(max_size=8))
def test_a_shown_id_is_short_the_same_each_time_and_anothers_for_another(
    one: str, other: str, key: bytes
) -> None:
    identifiers = Identifiers(secret_key=key)
    shown = identifiers.written_id(one)
    assert (
        len(shown) == HASH_DIGITS
        and int(shown, 16) >= 0
        and shown == Identifiers(secret_key=key).written_id(one)
    )
    assert (shown == identifiers.written_id(other)) == (one == other)


def test_a_message_in_a_report_names_neither_path_nor_file() -> None:
    message = "/data/a/DOE_JANE.nii.gz: its other half DOE_JANE.img is missing; a file of a person, and not damaged"
    assert hide_names(message, "/data/a/DOE_JANE.nii.gz", "a", "9f86d081884c") == (
        "9f86d081884c: its other half … is missing; 9f86d081884c file of 9f86d081884c person, and not damaged"
    )
    for path, message, wanted in (
        (
            "in/DOE_JANE_1950",
            "in/DOE_JANE_1950/DOE^JANE_3.dcm: cut short. Copy it again.",
            "X: cut short. Copy it again.",
        ),
        (
            "DOE_JANE#0123456789ab",
            "DOE_JANE#0123456789ab: no such series in DOE_JANE; look.",
            "X: no such series in X; look.",
        ),
        (
            "a.nhdr",
            "a.nhdr: its other half DOE_JOHN.raw is missing.",
            "X: its other half … is missing.",
        ),
        (
            "b.mha",
            "b.mha: the header's line is 'PatientName DOE^JOHN'; try.",
            "X: the header's line is '…'; try.",
        ),
        (
            "c.gz",
            "c.gz: fovnet reads NIfTI (.nii, .nii.gz, .hdr/.img); convert it: mri_convert IN OUT.nii.gz",
            "X: fovnet reads NIfTI (.nii, .nii.gz, .hdr/.img); convert it: mri_convert IN OUT.nii.gz",
        ),
        (
            "d.nii",
            "d.nii: 54% are at or below -900 (chmod u+r), 0.5 mm",
            "X: 54% are at or below -900 (chmod u+r), 0.5 mm",
        ),
    ):
        assert hide_names(message, path, "id of the volume", "X") == wanted
    assert hide_names(message, "/data/a/DOE_JANE.nii.gz", "a", "a") == message
