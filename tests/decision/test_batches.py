"""A folder of volumes, some broken: everybody's answer, nobody's crash, no work twice, whatever the order and
the workers."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import ModuleType

import nibabel
import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from fovnet._version import __version__
from fovnet.cli import app
from fovnet.decision.answer import AnsweredVolume, make_refusal
from fovnet.decision.assembly import write_ensemble
from fovnet.decision.earlier_answers import file_record, read_earlier_rows
from fovnet.decision.folder import save_rule
from fovnet.decision.predict import _read_volume
from fovnet.decision.rule import Rule
from fovnet.errors import CollectionError, ConfigError, VolumeError
from fovnet.maths.ladder import Height
from fovnet.net.family.architecture import Architecture
from fovnet.net.family.model import build_network
from fovnet.net.family.weights import save_network
from fovnet.records import read_json, read_tsv, write_json
from fovnet.regions import DEFAULT
from fovnet.report.exports.answers import read_answers
from fovnet.report.pages.answers_folder import claim_folder
from fovnet.report.pages.covering import MEMORY_FILE_NAME
from fovnet.report.pages.predictions import write_prediction
from fovnet.volume.slices.stack import Slicing, describe_slice_format
from fovnet.volume.sources.source import source_of

PREPARE = {"target_spacing_mm": 3.0, "max_tilt_deg": 20.0}
VOLUMES, BROKEN = 120, 12
CODES = (
    "volume-truncated",
    "volume-empty",
    "volume-format",
    "volume-geometry",
    "volume-constant",
    "volume-nonfinite",
    "volume-shape",
    "volume-rgb",
    "volume-complex",
    "volume-missing",
)


def image(seed: int) -> nibabel.Nifti1Image:
    rng = np.random.default_rng(seed)
    return nibabel.Nifti1Image(
        rng.integers(0, 900, (7, 6, 5)).astype(np.int16), np.diag([6.0, 6.0, 6.0 + seed % 7, 1.0])
    )


def broken(path: Path, kind: str, seed: int) -> None:
    """A file that is refused with the code `kind`."""
    good = image(seed).to_bytes()
    voxels = np.asarray(image(seed).dataobj)
    affine = image(seed).affine
    made = {
        "volume-truncated": lambda: good[:-50],
        "volume-empty": lambda: b"",
        "volume-format": lambda: b"a text that is no volume",
        "volume-geometry": lambda: good[:252] + b"\0\0\0\0" + good[256:],
        "volume-constant": lambda: nibabel.Nifti1Image(np.full_like(voxels, 3), affine).to_bytes(),
        "volume-nonfinite": lambda: nibabel.Nifti1Image(
            np.full(voxels.shape, np.nan, np.float32), affine
        ).to_bytes(),
        "volume-shape": lambda: nibabel.Nifti1Image(voxels[:1], affine).to_bytes(),
        "volume-rgb": lambda: nibabel.Nifti1Image(
            np.zeros(voxels.shape, np.dtype([("R", "u1"), ("G", "u1"), ("B", "u1")])), affine
        ).to_bytes(),
        "volume-complex": lambda: nibabel.Nifti1Image(
            voxels.astype(np.complex64), affine
        ).to_bytes(),
    }
    if kind == "volume-missing":
        path.symlink_to(path.with_name("gone"))
    else:
        path.write_bytes(made[kind]())


@pytest.fixture(scope="module")
def incoming(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """120 files: every tenth is broken, in ten ways in turn; names with blanks, letters of several alphabets
    and no UTF-8 among them."""
    folder = tmp_path_factory.mktemp("incoming")
    for number in range(VOLUMES):
        name = f"v{number:03d}" + (" θώραξ 胸\udcff" if number % 17 == 0 else "")
        if number % 10 == 9:
            broken(folder / f"{name}.nii", CODES[number // 10 % len(CODES)], number)
        elif number % 3:
            (folder / f"{name}.nii").write_bytes(image(number).to_bytes())
        else:
            (folder / f"{name}.nii.gz").write_bytes(gzip.compress(image(number).to_bytes(), 1))
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An ensemble of one tiny network with weights as drawn."""
    folder = tmp_path_factory.mktemp("model")
    net = Architecture(4, 1, 2, 3, False, classes=len(DEFAULT.classes), head="gap")
    inputs = {"classes": DEFAULT.classes, "slices": describe_slice_format(Slicing(**PREPARE))}
    path = save_network(
        folder / "slot-0003.safetensors",
        build_network(net, torch.Generator().manual_seed(3)),
        net,
        inputs,
    )
    member = {"slot": 3, "score": 0.3, "configuration": {"blocks": 4}, "weights": str(path)}
    write_ensemble(folder / "ensemble", [member], DEFAULT, PREPARE, settings={}, seed=1)
    save_rule(
        folder / "ensemble",
        Rule(sigma_mm=4.5, heights=(None, Height(220.0, 15.0), None, None, None)),
        {},
        settings={},
        seed=1,
    )
    return folder / "ensemble"


def predict(model: Path, out: Path, *words: str | Path, status: int = 3) -> str:
    """What the command prints, run in this process: importing torch anew for each run would take longer than
    the runs."""
    line = [
        "predict",
        *map(str, words),
        "--model",
        str(model),
        "--out",
        str(out),
        "--no-pictures",
        "--device",
        "cpu",
    ]
    done = CliRunner().invoke(app, line)
    assert done.exit_code == status, done.output[-3000:]
    return done.output


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in written(folder)}


def written(folder: Path) -> list[Path]:
    """Every file in a folder and below."""
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.fixture(scope="module")
def answers(incoming: Path, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("answers") / "one"
    output = predict(model, out, incoming)
    assert f"{VOLUMES} volumes, {BROKEN} refused" in output
    return out


@pytest.mark.slow
def test_nine_in_ten_are_answered_as_if_alone_and_the_broken_ones_are_refused_by_their_codes(
    incoming: Path, answers: Path, model: Path, tmp_path: Path
) -> None:
    rows = read_tsv(answers / "spans.tsv")
    status = {row["volume_id"]: row["status"] for row in rows}
    assert len(status) == VOLUMES
    refused = {name for name, state in status.items() if state == "refused"}
    assert refused == {name for name in status if int(name[1:4]) % 10 == 9}
    for name in refused:
        facts = read_json(answers / f"{name}.json")
        assert (
            facts["code"] == CODES[int(name[1:4]) // 10 % len(CODES)]
            and name[:4] in facts["message"]
        )
    for name in ("v001", "v105"):
        (path,) = incoming.glob(f"{name}.nii*")
        predict(model, tmp_path, path, status=0)
        assert (tmp_path / f"{name}.json").read_bytes() == (answers / f"{name}.json").read_bytes()


def test_the_readme_tells_of_every_key_of_an_answer(model: Path, tmp_path: Path) -> None:
    (tmp_path / "v.nii").write_bytes(image(3).to_bytes())
    predict(model, tmp_path / "out", tmp_path / "v.nii", status=0)
    readme = (Path(__file__).parents[2] / "fovnet" / "decision" / "README.md").read_text(
        encoding="utf-8"
    )
    table = readme[readme.index("| key of `<volume_id>.json` |") :].partition("\n\n")[0]
    assert set(read_json(tmp_path / "out" / "v.json")) == set(
        re.findall(r"`([a-z0-9_]+)`", table)
    ) - {
        "levels",
        "volume_confidence",
        # where something is said of parts
        "parts",
        "part_spans",
        "part_boundaries",
        "smoothed_parts",
    }


@pytest.mark.slow
def test_a_second_run_rewrites_no_file_of_the_answers(
    incoming: Path, answers: Path, model: Path
) -> None:
    """But the table and the index, for files that were missing are looked for again; and these two come out
    the same."""
    tables = [answers / "spans.tsv", answers / "index.html"]
    before = {
        path: (path.stat().st_mtime_ns, path.stat().st_ino)
        for path in written(answers)
        if path not in tables
    }
    before_bytes = [path.read_bytes() for path in tables]
    drawn = 2 * (VOLUMES - BROKEN)
    assert len(before) == VOLUMES + drawn, (
        "an answer each; a page and a thumbnail of every one read"
    )
    predict(model, answers, incoming, "--workers", "2")
    assert {
        path: (path.stat().st_mtime_ns, path.stat().st_ino)
        for path in written(answers)
        if path not in tables
    } == before
    assert [path.read_bytes() for path in tables] == before_bytes


def test_a_run_cut_short_leaves_no_table_of_an_earlier_one(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The earlier table lists one volume of two: who exports it would believe that to be all."""
    for number in range(2):
        (tmp_path / f"v{number}.nii").write_bytes(image(number).to_bytes())
    predict(model, tmp_path / "out", tmp_path / "v0.nii", status=0)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as here:
        here.setattr("fovnet.report.pages.predictions.write_prediction", interrupted)
        line = [
            "predict",
            *sorted(tmp_path.glob("*.nii")),
            "--model",
            model,
            "--out",
            tmp_path / "out",
            "--no-pictures",
        ]
        assert CliRunner().invoke(app, list(map(str, line))).exit_code != 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["pages", "v0.json"]
    with pytest.raises(CollectionError, match="give that command again"):
        read_answers(tmp_path / "out")
    predict(model, tmp_path / "out", *sorted(tmp_path.glob("*.nii")), status=0)
    assert {one.volume_id for one in read_answers(tmp_path / "out")} == {"v0", "v1"}


@pytest.mark.slow
def test_an_answer_lists_what_lies_beside_a_series_now_and_not_of_what_lay_there(
    model: Path, tmp_path: Path, write: ModuleType
) -> None:
    """An object that could not be used was removed, as its refusal says: the table is that of a folder that
    never had it."""
    series = write.save(tmp_path / "series", write.images(write.noise()))
    (series / "zzz.dcm").write_bytes(b"garbage")
    predict(model, tmp_path / "out", series)
    (series / "zzz.dcm").unlink()
    predict(model, tmp_path / "out", series, status=0)
    predict(model, tmp_path / "fresh", series, status=0)
    assert (tmp_path / "out" / "spans.tsv").read_bytes() == (
        tmp_path / "fresh" / "spans.tsv"
    ).read_bytes()
    assert "kept from an earlier run" in predict(model, tmp_path / "out", series, status=0)


def test_a_volume_that_is_called_as_dicom_is_and_answered_is_not_reported_as_unread(
    model: Path, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.dcm").write_bytes(image(1).to_bytes())
    output = predict(model, tmp_path / "out", tmp_path / "in", status=0)
    assert "not read" not in output and "1 volume, 0 refused" in output


def test_three_workers_and_shuffled_arguments_write_the_same_bytes(
    incoming: Path, answers: Path, model: Path, tmp_path: Path
) -> None:
    files = sorted(incoming.iterdir())
    shuffled = [files[index] for index in np.random.default_rng(5).permutation(len(files))]
    predict(model, tmp_path / "three", *shuffled, "--workers", "3")
    assert contents(tmp_path / "three") == contents(answers)


def test_every_engine_gives_the_same_answers_and_keeps_those_of_the_others(
    model: Path, tmp_path: Path
) -> None:
    from fovnet.net.inference.engines import list_installed_engines

    (tmp_path / "in").mkdir()
    for number in range(3):
        (tmp_path / "in" / f"v{number}.nii").write_bytes(image(number).to_bytes())
    tables = {}
    for name in list_installed_engines():
        predict(model, tmp_path / name, tmp_path / "in", "--engine", name, "--no-pages", status=0)
        tables[name] = [
            row | {"confidence": row["confidence"] and round(float(row["confidence"]), 2)}
            for row in read_tsv(tmp_path / name / "spans.tsv")
        ]
        engine = read_json(tmp_path / name / "v0.json")["engine"]
        assert engine["name"] == name and engine["version"]
    assert all(rows == tables["torch"] for rows in tables.values()) and len(tables["torch"]) >= 3
    before = {path: path.read_bytes() for path in (tmp_path / "torch").glob("*.json")}
    predict(model, tmp_path / "torch", tmp_path / "in", "--no-pages", status=0)
    assert before == {path: path.read_bytes() for path in (tmp_path / "torch").glob("*.json")}


def test_what_an_archive_holds_beside_its_series_is_reported_and_counts(
    model: Path, tmp_path: Path, write: ModuleType
) -> None:
    """The series is answered, the NIfTI beside it is not: nobody may believe that the archive was read
    whole."""
    series = write.save(tmp_path / "series", write.images(write.noise()))
    (series / "brain.nii").write_bytes(image(1).to_bytes())
    output = predict(model, tmp_path / "out", write.zipped(tmp_path / "study.zip", series))
    assert "brain.nii: only DICOM is read from archives" in output
    assert "1 volume, 0 refused, 1 object in archives could not be read" in output
    assert "1 DICOM series found; 1 object could not be read" in output
    rows = read_tsv(tmp_path / "out" / "spans.tsv")
    assert rows[0]["status"] != "refused"
    assert list(rows[0])[:10] == [
        "volume_id",
        "path",
        "status",
        "region",
        "first_slice",
        "last_slice",
        "from_mm",
        "to_mm",
        "confidence",
        "message",
    ]
    (volume,) = {(row["volume_id"], row["volume_confidence"]) for row in rows}
    facts = read_json(tmp_path / "out" / f"{volume[0]}.json")
    regions = {row["region"] for row in rows} - {""}
    sure = {one["region"] for one in facts["statements"] if one["answer"] != "unsure"}
    if regions <= sure and (regions or facts["status"] == "ok"):
        assert float(volume[1]) == pytest.approx(facts["confidence"], abs=5e-4)
    else:
        assert volume[1] == "", "no confidence beside what is unsure"


def answered(folder: Path, path: Path, volume_id: str = "a", **facts: object) -> None:
    """A JSON as prediction leaves it."""
    record = {
        "volume_id": volume_id,
        "path": str(path),
        "status": "ok",
        "code": "",
        "model": "m",
        "rows": [{"region": "head"}],
        "file": file_record(source_of(path)),
    }
    write_json(folder / f"{volume_id}.json", {**record, **facts})


def kept(
    folder: Path, path: Path, volume_id: str = "a", identity: str = "m", picture: bool = False
) -> bool:
    beside = (f"{volume_id}.png",) if picture else ()
    return (
        read_earlier_rows(folder, volume_id, source_of(path), identity, further_files=beside)
        is not None
    )


def test_an_answer_is_kept_by_content_and_model(tmp_path: Path) -> None:
    path, other = tmp_path / "a.nii", tmp_path / "other.nii"
    path.write_bytes(image(1).to_bytes())
    answered(tmp_path, path)
    assert kept(tmp_path, path)
    os.utime(path, (1, 1))
    assert kept(tmp_path, path), "touched, the same content"
    shutil.copy(path, other)
    other.replace(path)
    assert kept(tmp_path, path), "fetched again, the same content"
    assert not kept(tmp_path, path, identity="another model")
    assert not kept(tmp_path, path, picture=True), "without the picture that is wanted now"
    assert not kept(tmp_path, other), "another path"
    answered(tmp_path, path, fovnet={"version": f"{__version__}.1"})
    assert not kept(tmp_path, path), "another version's answer"
    (tmp_path / "a.json").write_text("{")
    assert not kept(tmp_path, path), "half an answer"


def test_an_answer_drawn_with_faces_is_drawn_anew_without_them(tmp_path: Path) -> None:
    path = tmp_path / "a.nii"
    path.write_bytes(image(1).to_bytes())
    answered(tmp_path, path, faces=True)
    (tmp_path / "a.png").write_bytes(b"a picture")
    wanted = {
        "volume_id": "a",
        "source": source_of(path),
        "identity": "m",
        "further_files": ("a.png",),
    }
    assert read_earlier_rows(tmp_path, **wanted, faces=True) is not None
    assert read_earlier_rows(tmp_path, **wanted, faces=False) is None
    rows = read_earlier_rows(tmp_path, "a", source_of(path), "m", faces=False)
    assert rows is not None, "nothing is drawn that could show one"


@pytest.mark.slow
def test_pages_are_written_unless_they_are_not_wanted(
    incoming: Path, model: Path, tmp_path: Path
) -> None:
    (path,) = incoming.glob("v001.nii*")
    predict(model, tmp_path / "without", path, "--no-pages", status=0)
    assert (
        not (tmp_path / "without" / "index.html").exists()
        and not (tmp_path / "without" / "pages").exists()
    )
    predict(model, tmp_path / "with", path, status=0)
    assert "pages/v001.html" in (tmp_path / "with" / "index.html").read_text()
    assert (tmp_path / "with" / "spans.tsv").read_bytes() == (
        tmp_path / "without" / "spans.tsv"
    ).read_bytes()


@pytest.mark.slow
def test_no_page_or_picture_of_an_earlier_answer_stays_beside_a_new_one(
    incoming: Path, model: Path, tmp_path: Path
) -> None:
    """With faces, then without them and without pages: the page that shows faces must not be taken for the
    new answer's."""
    (path,) = incoming.glob("v001.nii*")
    line = ["predict", str(path), "--model", str(model), "--out", str(tmp_path), "--device", "cpu"]
    page, picture = tmp_path / "pages" / "v001.html", tmp_path / "v001.png"
    small = tmp_path / "pages" / "v001.jpg"
    assert CliRunner().invoke(app, line).exit_code == 0 and picture.exists()
    shows_faces, small_with_faces = page.read_bytes(), small.read_bytes()
    assert CliRunner().invoke(app, [*line, "--no-faces", "--no-pages"]).exit_code == 0
    assert not page.exists() and not small.exists() and picture.exists()
    assert CliRunner().invoke(app, [*line, "--no-faces", "--no-pictures"]).exit_code == 0
    assert page.read_bytes() != shows_faces and not picture.exists()
    assert small.read_bytes() != small_with_faces
    covered = page.read_bytes()
    forgotten = CliRunner().invoke(app, line)
    assert (
        forgotten.exit_code == 0
        and "faces are covered, as an earlier run was told" in forgotten.output
    )
    assert page.read_bytes() == covered and picture.exists()
    assert (
        CliRunner().invoke(app, [*line, "--faces"]).exit_code == 0
        and page.read_bytes() == shows_faces
    )
    again = CliRunner().invoke(app, [*line, "--no-faces", "--no-pages", "--no-pictures"])
    assert (
        again.exit_code == 0
        and "kept from an earlier run: the answers on 1 of 1 volume" in again.output
    )
    left = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    assert left == [MEMORY_FILE_NAME, "spans.tsv", "v001.json"]


@pytest.mark.slow
def test_without_faces_none_is_left_in_the_folder_of_volumes_answered_before(
    incoming: Path, model: Path, tmp_path: Path
) -> None:
    """Whoever hands the folder on believes them covered; what was drawn without faces, and JSONs, stay."""
    first, second, third = (next(incoming.glob(f"v00{number}.nii*")) for number in (1, 2, 3))
    line = ["--model", str(model), "--out", str(tmp_path), "--device", "cpu"]
    removed = []
    unlisted = []
    for path, more in ((first, []), (third, ["--no-faces"]), (second, ["--no-faces"])):
        done = CliRunner().invoke(app, ["predict", str(path), *line, *more])
        assert done.exit_code == 0
        removed.append("3 pictures and pages of earlier runs removed" in done.stderr)
        unlisted += re.findall("(. earlier answers? on other volumes .* no longer)", done.stderr)
    assert removed == [False, True, False]
    assert unlisted == [
        "1 earlier answer on other volumes is no longer",
        "2 earlier answers on other volumes are no longer",
    ]
    drawn = [
        tmp_path / name
        for volume in ("v001", "v002", "v003")
        for name in (f"{volume}.png", f"pages/{volume}.html", f"pages/{volume}.jpg")
    ]
    assert [path.exists() for path in drawn] == [False] * 3 + [True] * 6 and (
        tmp_path / "v001.json"
    ).exists()


@pytest.mark.slow
def test_an_answer_that_takes_the_place_of_another_files_is_reported(
    incoming: Path, model: Path, tmp_path: Path
) -> None:
    for place, name in (("a", "v001"), ("b", "v002")):
        (tmp_path / place).mkdir()
        shutil.copy(incoming / f"{name}.nii", tmp_path / place / "t1.nii")
    out = tmp_path / "out"
    outputs = [
        predict(model, out, tmp_path / place, "--no-pages", status=0) for place in ("a", "a", "b")
    ]
    assert ["replaced (1: t1)" in one for one in outputs] == [False, False, True]


def test_a_folder_that_was_removed_meanwhile_is_reported_and_what_a_killed_run_began_is_cleared(
    tmp_path: Path,
) -> None:
    """Two of four answers would be there, and the table say four."""
    folder, mine = tmp_path / "out", tmp_path / "out" / ".notes.part"
    (folder / "pages").mkdir(parents=True)
    mine.touch()
    for begun in (".leg.json.4711.part", ".leg.png.1.part", "pages/.leg.html.99999.part"):
        (folder / begun).write_bytes(b"perhaps half a page with a face")
    with claim_folder(folder) as refuse_gone:
        refuse_gone()
        assert [path.name for path in sorted(folder.rglob("*"))] == [mine.name, "pages"]
        shutil.rmtree(folder)
        # gone, and there again, as the next answer's writing makes it
        for _ in range(2):
            with pytest.raises(ConfigError) as gone:
                refuse_gone()
            assert gone.value.code == "out-gone"
            folder.mkdir(exist_ok=True)


def test_two_runs_at_once_do_not_share_a_folder(
    incoming: Path, model: Path, tmp_path: Path
) -> None:
    line = [
        "predict",
        str(next(incoming.glob("v001.nii*"))),
        "--model",
        str(model),
        "--out",
        str(tmp_path),
        "--no-pictures",
        "--no-pages",
    ]
    with claim_folder(tmp_path):
        refused = CliRunner().invoke(app, line).exception
    assert (
        isinstance(refused, ConfigError)
        and refused.code == "out-busy"
        and not list(tmp_path.iterdir())
    )
    assert CliRunner().invoke(app, line).exit_code == 0


def test_a_converters_sidecar_beside_its_volume_is_not_written_over(
    incoming: Path, model: Path, tmp_path: Path
) -> None:
    shutil.copy(next(incoming.glob("v001.nii*")), tmp_path / "leg.nii")
    sidecar = tmp_path / "leg.json"
    sidecar.write_text('{"EchoTime": 0.08}')
    line = [
        "predict",
        str(tmp_path / "leg.nii"),
        "--model",
        str(model),
        "--out",
        str(tmp_path),
        "--no-pictures",
        "--no-pages",
    ]
    refused = CliRunner().invoke(app, line).exception
    assert (
        isinstance(refused, ConfigError)
        and refused.code == "out-foreign"
        and "leg.json" in refused.sentence
    )
    assert sidecar.read_text() == '{"EchoTime": 0.08}' and sorted(
        path.name for path in tmp_path.iterdir()
    ) == ["leg.json", "leg.nii"]


@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("leg.json", '{"InstitutionName": "Universit\xe4tsklinikum"}'.encode("latin-1")),
        ("leg.json", b"[1, 2]"),
        ("leg.json", b"notes"),
        ("leg.png", b"\x89PNG of somebody's"),
        ("index.html", b"<html><title>my study</title>"),
        ("spans.tsv", b"name\tspan\n"),
        ("found.tsv", b"what\twhere\n"),
        ("found.json", b'{"found": 3}'),
    ],
)
def test_nothing_that_is_not_fovnets_is_written_over(
    incoming: Path, model: Path, tmp_path: Path, name: str, held: bytes
) -> None:
    shutil.copy(next(iter(sorted(incoming.glob("v001.nii*")))), tmp_path / "leg.nii")
    (tmp_path / name).write_bytes(held)
    for more in ([], ["--no-pages", "--no-pictures"]):
        line = [
            "predict",
            str(tmp_path / "leg.nii"),
            "--model",
            str(model),
            "--out",
            str(tmp_path),
            *more,
        ]
        refused = CliRunner().invoke(app, line).exception
        assert (
            isinstance(refused, ConfigError)
            and refused.code == "out-foreign"
            and name in refused.sentence
        )
    assert (tmp_path / name).read_bytes() == held and sorted(
        path.name for path in tmp_path.iterdir()
    ) == sorted({name, "leg.nii"})


def test_a_page_of_somebody_elses_is_neither_removed_nor_written_over(
    incoming: Path, model: Path, tmp_path: Path
) -> None:
    shutil.copy(next(iter(sorted(incoming.glob("v001.nii*")))), tmp_path / "leg.nii")
    (tmp_path / "pages").mkdir()
    page = tmp_path / "pages" / "leg.html"
    page.write_text("<title>my notes</title>")
    for more in ([], ["--no-pages", "--no-pictures"]):
        line = [
            "predict",
            str(tmp_path / "leg.nii"),
            "--model",
            str(model),
            "--out",
            str(tmp_path),
            *more,
        ]
        refused = CliRunner().invoke(app, line).exception
        assert (
            isinstance(refused, ConfigError)
            and refused.code == "out-foreign"
            and "leg.html" in refused.sentence
        )
    assert page.read_text() == "<title>my notes</title>" and not (tmp_path / "leg.json").exists()
    page.unlink()
    drawn = [
        CliRunner().invoke(app, line[:6] + more).exit_code for more in ([], [], ["--no-pages"])
    ]
    assert drawn == [0, 0, 0] and "<title>leg: fovnet" in page.read_text()


@pytest.mark.parametrize("held", [b"", b'{"fovnet": {"version": "0.1.0"}, "volume_id": "le'])
def test_an_answer_that_a_failing_disk_has_damaged_is_made_again(
    incoming: Path, model: Path, tmp_path: Path, held: bytes
) -> None:
    """And so is one of which a killed run left the picture alone."""
    shutil.copy(next(iter(sorted(incoming.glob("v001.nii*")))), tmp_path / "leg.nii")
    line = [
        "predict",
        str(tmp_path / "leg.nii"),
        "--model",
        str(model),
        "--out",
        str(tmp_path / "out"),
        "--no-pages",
    ]
    assert CliRunner().invoke(app, line).exit_code == 0
    (tmp_path / "out" / "leg.json").write_bytes(held)
    assert (
        CliRunner().invoke(app, line).exit_code == 0
        and read_json(tmp_path / "out" / "leg.json")["status"] != "refused"
    )
    (tmp_path / "out" / "leg.json").unlink()
    assert CliRunner().invoke(app, line).exit_code == 0


def test_a_file_of_equal_size_and_time_that_took_anothers_name_does_not_get_its_answer(
    tmp_path: Path,
) -> None:
    """Moving keeps size and time of modification; only inode, time of change and content differ."""
    first, second = tmp_path / "a.nii", tmp_path / "b.nii"
    for seed, path in enumerate((first, second)):
        path.write_bytes(
            nibabel.Nifti1Image(np.random.default_rng(seed).random((4, 4, 4)), np.eye(4)).to_bytes()
        )
        os.utime(path, (1000, 1000))
    answered(tmp_path, first)
    second.replace(first)
    assert first.stat().st_mtime == 1000
    assert not kept(tmp_path, first)


def test_content_changed_in_place_under_the_old_time_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "a.nii"
    path.write_bytes(image(1).to_bytes())
    os.utime(path, (1000, 1000))
    answered(tmp_path, path)
    whole = bytearray(path.read_bytes())
    whole[-1] ^= 1
    with path.open("r+b") as file:
        file.write(whole)
    os.utime(path, (1000, 1000))
    assert not kept(tmp_path, path)


def test_a_changed_image_under_an_unchanged_header_is_seen(tmp_path: Path) -> None:
    pair = nibabel.Nifti1Pair(np.asarray(image(1).dataobj), image(1).affine)
    nibabel.save(pair, tmp_path / "a.hdr")
    answered(tmp_path, tmp_path / "a.hdr")
    assert kept(tmp_path, tmp_path / "a.hdr")
    voxels = bytearray((tmp_path / "a.img").read_bytes())
    voxels[0] ^= 1
    (tmp_path / "a.img").write_bytes(voxels)
    assert not kept(tmp_path, tmp_path / "a.hdr")


def test_a_refusal_is_kept_while_the_file_stays_as_it_is_and_a_passing_one_is_tried_again(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.nii"
    path.write_bytes(b"a text")
    answered(tmp_path, path, status="refused", code="volume-format")
    assert kept(tmp_path, path, picture=True)
    path.write_bytes(image(1).to_bytes())
    assert not kept(tmp_path, path)
    for passing in ("volume-permission", "engine-failed"):
        answered(tmp_path, path, status="refused", code=passing)
        assert not kept(tmp_path, path)


def test_a_file_whose_claim_is_cut_off_and_a_pipe_are_refused_and_the_next_is_answered(
    tmp_path: Path,
) -> None:
    """A reader may need more than the first bytes to know a file as its own, and nothing waits for a pipe."""
    whole = gzip.compress(b"NRRD0004\n" + b"# a long header\n" * 4000 + b"type: short\n")
    (tmp_path / "cut.nrrd").write_bytes(whole[: len(whole) // 2])
    os.mkfifo(tmp_path / "pipe.nii")
    (tmp_path / "fine.nii").write_bytes(image(1).to_bytes())
    slicing = partial(_read_volume, slicing=Slicing())
    for name, code in (
        ("cut.nrrd", "volume-truncated"),
        ("pipe.nii", "volume-unreadable"),
        ("fine.nii", None),
    ):
        source = source_of(tmp_path / name)
        seen = slicing(source)
        assert getattr(seen.result, "code", None) == code
        assert (source.content_checksum is None) == (
            name == "pipe.nii"
        ) and seen.source.file_stamps is not None


def test_a_file_that_changed_since_it_was_read_is_read_again(tmp_path: Path) -> None:
    """One that was still being copied when it was read, and whole when its refusal was written."""
    path = tmp_path / "a.nii"
    for late, still in ((False, True), (True, False)):
        path.write_bytes(image(1).to_bytes()[:-50])
        source = source_of(path)
        assert source.file_stamps
        fault = VolumeError("volume-truncated", f"{path}: the voxels end early.")
        seen = AnsweredVolume(make_refusal("a", str(path), fault), source=source)
        if late:
            path.write_bytes(image(1).to_bytes())
        write_prediction(
            tmp_path / "out", seen, DEFAULT, "m", None, pictures=False, pages=False, faces=True
        )
        assert (read_earlier_rows(tmp_path / "out", "a", source, "m") is not None) == still


SHORT = """
import resource, sys
from dataclasses import replace
from pathlib import Path
from fovnet.decision.ensemble import load_ensemble
from fovnet.decision.earlier_answers import TEMPORARY_REFUSAL_CODES
from fovnet.decision.predict import predict_volumes
from fovnet.results import shipped_folder
from fovnet.net.family.architecture import Architecture
from fovnet.net.family.model import build_network
from fovnet.net.inference.torch_engine import TorchEngine
from fovnet.volume.sources.source import source_of
small, tall = map(Path, sys.argv[1:])
ensemble = load_ensemble(shipped_folder(), "cpu", engine="torch")
engine = ensemble.engine
class_count = len(ensemble.network_vocabulary.classes)
wide = build_network(Architecture(1, 1, 7, 3, False, class_count, "gap", inputs=engine.input_kinds)).eval()
ensemble = replace(ensemble, engine=TorchEngine([wide] * engine.member_count, engine.device), novelty=None)
before, = predict_volumes([("before", source_of(small))], ensemble)
used = 1024 * int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1])
resource.setrlimit(resource.RLIMIT_AS, (used + 120 * 2**20,) * 2)
found, after = predict_volumes([("tall", source_of(tall)), ("after", source_of(small))], ensemble)
same = (after.raw_probabilities == before.raw_probabilities).all()
print(found.answer.status, found.answer.code, found.answer.code in TEMPORARY_REFUSAL_CODES, same)
"""


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the size of a process is read otherwise here"
)
def test_a_volume_for_whose_slices_there_is_not_the_memory_stops_no_batch(tmp_path: Path) -> None:
    """900 slices are read and cut within 120 MB, and not classified, nine at once with 128 filters: a
    RuntimeError of torch, and in an hour it may be otherwise.  Two slices are."""
    for name, shape in (("small", (48, 48, 2)), ("tall", (48, 48, 900))):
        voxels = np.random.default_rng(1).integers(0, 200, shape).astype(np.uint8)
        voxels[10:38, 10:38] += 50
        nibabel.Nifti1Image(voxels, np.diag([8, 8, 2.9 if name == "tall" else 8, 1])).to_filename(
            tmp_path / f"{name}.nii"
        )
    line = [sys.executable, "-c", SHORT, tmp_path / "small.nii", tmp_path / "tall.nii"]
    done = subprocess.run(
        line,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.stdout.split() == ["refused", "volume-memory", "True", "True"], done.stderr[-2000:]


def test_a_name_that_a_formula_could_be_is_a_name(model: Path, tmp_path: Path) -> None:
    """Pictures are drawn with its dollars, braces and backslashes as they are."""
    names = ("cost$5_{^$x", r"a$\frac$b", "plain")
    for name in names:
        (tmp_path / f"{name}.nii").write_bytes(image(2).to_bytes())
    (tmp_path / "$x^{$.nii").write_bytes(b"")
    line = [
        "predict",
        *map(str, tmp_path.glob("*.nii")),
        "--model",
        str(model),
        "--out",
        str(tmp_path / "out"),
        "--device",
        "cpu",
    ]
    assert CliRunner().invoke(app, line).exit_code == 3
    assert {row["volume_id"] for row in read_tsv(tmp_path / "out" / "spans.tsv")} == {
        *names,
        "$x^{$",
    }
    assert all((tmp_path / "out" / f"{name}.png").exists() for name in names)
