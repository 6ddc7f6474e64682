"""Whose answer is whose: a labelled volume gets the answer on its own file or none, and what is not sure is
said."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fovnet.decision.earlier_answers import file_record
from fovnet.evaluate.matching import BY_CONTENT, BY_NAME, BY_PATH, BY_PATH_END, Match, match_answers
from fovnet.volume.collection.table_rows import RegionRow, VolumeRow
from fovnet.volume.collection.tables import Collection
from fovnet.volume.sources.source import source_of


@dataclass(frozen=True)
class Situation:
    """Rows (volume_id, subject_id, path) of a table and answers (volume_id, path), with what of the answers
    belongs to each row, and by what; "mount/" is the folder that the test has.

    files      on disk, with their content
    links      from a path to another
    unlabelled  rows without a label
    """

    rows: tuple[tuple[str, str, str], ...]
    answers: tuple[tuple[str, str], ...]
    wanted: dict[str, tuple[str, str] | None]
    files: dict[str, bytes] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    unlabelled: tuple[str, ...] = ()


T1_ROWS = (("T1", "sub-01", "/old/sub-01/T1.nii.gz"), ("T1-2", "sub-03", "/old/sub-03/T1.nii.gz"))
T1_ANSWERS = tuple((f"T1-{n}" if n > 1 else "T1", f"new/sub-0{n}/T1.nii.gz") for n in (1, 2, 3))
SITUATIONS = {
    "a tree that has grown, at another mount": Situation(
        T1_ROWS, T1_ANSWERS, {"T1": ("T1", BY_PATH_END), "T1-2": ("T1-3", BY_PATH_END)}
    ),
    "the labelled person is not among the answers": Situation(
        T1_ROWS, T1_ANSWERS[:2], {"T1": ("T1", BY_PATH_END), "T1-2": None}
    ),
    "one answer, on another person": Situation(T1_ROWS[1:], T1_ANSWERS[1:2], {"T1-2": None}),
    "one of each, and the number is gone": Situation(
        (("T1", "sub-03", "/old/sub-03/T1.nii.gz"),),
        (("T1", "new/sub-02/T1.nii.gz"),),
        {"T1": None},
    ),
    "a folder between the person and the file": Situation(
        (("T1", "sub-03", "/old/sub-03/anat/T1.nii.gz"),),
        (("T1", "new/sub-02/anat/T1.nii.gz"),),
        {"T1": None},
    ),
    "persons of folders without sub-": Situation(
        (("scan", "anna", "/old/anna/mr/scan.nii"), ("scan-2", "bo", "/old/bo/mr/scan.nii")),
        (("scan", "new/bo/mr/scan.nii"),),
        {"scan": None, "scan-2": ("scan", BY_PATH_END)},
    ),
    "the same tree under two sites": Situation(
        (("T1", "sub-01", "/old/sub-01/T1.nii"),),
        (("T1", "new/a/sub-01/T1.nii"), ("T1-2", "new/b/sub-01/T1.nii")),
        {"T1": None},
    ),
    "two sites in both, and the sites tell": Situation(
        (("T1", "sub-01", "/old/a/sub-01/T1.nii"), ("T1-2", "sub-01b", "/old/b/sub-01/T1.nii")),
        (("T1", "new/b/sub-01/T1.nii"), ("T1-2", "new/a/sub-01/T1.nii")),
        {"T1": ("T1-2", BY_PATH_END), "T1-2": ("T1", BY_PATH_END)},
    ),
    "an unlabelled row has the same end": Situation(
        (("T1", "p", "/old/a/sub-01/T1.nii"), ("T1-2", "q", "/old/b/sub-01/T1.nii")),
        (("T1", "new/sub-01/T1.nii"),),
        {"T1": None},
        unlabelled=("T1-2",),
    ),
    "the same path": Situation(
        (("any", "p", "mount/a/scan.nii"),),
        (("scan", "mount/a/scan.nii"),),
        {"any": ("scan", BY_PATH)},
    ),
    "a relative path": Situation(
        (("any", "p", "mount/a/scan.nii"),),
        (("scan", "relative/a/scan.nii"),),
        {"any": ("scan", BY_PATH)},
    ),
    "a path with steps back": Situation(
        (("any", "p", "mount/a/../a/scan.nii"),),
        (("scan", "mount/a/scan.nii"),),
        {"any": ("scan", BY_PATH)},
    ),
    "through a linked folder": Situation(
        (("any", "p", "mount/link/scan.nii"),),
        (("scan", "mount/a/scan.nii"),),
        {"any": ("scan", BY_PATH)},
        files={"a/scan.nii": b"x"},
        links={"link": "a"},
    ),
    "a linked file, as a dataset of git-annex has": Situation(
        (("any", "p", "mount/sub-01/T1.nii"),),
        (("MD5E", "mount/annex/MD5E.nii"),),
        {"any": ("MD5E", BY_PATH)},
        files={"annex/MD5E.nii": b"x"},
        links={"sub-01/T1.nii": "../annex/MD5E.nii"},
    ),
    "a series of an archive, moved": Situation(
        (("z", "p", "/old/in/study.zip#0123456789ab"),),
        (("study-0123456789ab", "new/in/study.zip#0123456789ab"),),
        {"z": ("study-0123456789ab", BY_PATH_END)},
    ),
    "another series of the same archive": Situation(
        (("z", "p", "/old/in/study.zip#0123456789ab"),),
        (("study-ffffffffffff", "new/in/study.zip#ffffffffffff"),),
        {"z": None},
    ),
    "a copy under another name": Situation(
        (("any", "p", "mount/a/one.nii"),),
        (("two", "mount/b/two.nii"),),
        {"any": ("two", BY_CONTENT)},
        files={"a/one.nii": b"same", "b/two.nii": b"same"},
    ),
    "a copy, beside another file of the id": Situation(
        (("one", "p", "mount/a/one.nii"),),
        (("two", "mount/b/two.nii"), ("one", "mount/b/one.nii")),
        {"one": ("two", BY_CONTENT)},
        files={"a/one.nii": b"same", "b/two.nii": b"same", "b/one.nii": b"else"},
    ),
    "two rows of one content, one answer": Situation(
        (("one", "p", "mount/a/one.nii"), ("1", "q", "mount/c/1.nii")),
        (("two", "mount/b/two.nii"),),
        {"one": ("two", BY_CONTENT), "1": None},
        files={"a/one.nii": b"same", "b/two.nii": b"same", "c/1.nii": b"same"},
    ),
    "another file of the same name and size": Situation(
        (("scan", "p", "mount/a/scan.nii"),),
        (("scan", "mount/b/scan.nii"),),
        {"scan": ("scan", BY_NAME)},
        files={"a/scan.nii": b"head", "b/scan.nii": b"legs"},
    ),
    "a name that is of one volume alone": Situation(
        (("case7", "p", "/old/dicom/7"),),
        (("case7", "converted/case7.nii.gz"),),
        {"case7": ("case7", BY_NAME)},
    ),
    "a name with a number of its own": Situation(
        (("T1-2", "p", "/old/T1-2.nii"),), (("T1-2", "flat/T1-2.nii"),), {"T1-2": ("T1-2", BY_NAME)}
    ),
    "ids that repeat but for their case": Situation(
        (("T1", "p", "/old/x.nii"),),
        (("T1", "new/a/T1.nii"), ("t1-2", "new/b/t1.nii")),
        {"T1": None},
    ),
    "a name that the table numbered": Situation(
        (("T1", "p", "/old/a/T1.nii"), ("T1-2", "q", "/old/b/T1.nii")),
        (("T1", "flat/T1.nii"),),
        {"T1": None, "T1-2": None},
    ),
    "an answer on another row's file has its name": Situation(
        (("half", "p", "mount/half.nii"), ("right", "q", "mount/right.nii")),
        (("half", "mount/right.nii"),),
        {"half": None, "right": ("half", BY_PATH)},
    ),
    "a name on the file of an unlabelled row": Situation(
        (("half", "p", "mount/half.nii"), ("right", "q", "mount/right.nii")),
        (("half", "mount/right.nii"),),
        {"half": None},
        unlabelled=("right",),
    ),
    "the folder of another known person": Situation(
        (("scan", "anna", "/old/anna/scan.nii"), ("other", "bo", "/old/bo/other.nii")),
        (("scan", "new/bo/scan.nii"),),
        {"scan": None, "other": None},
    ),
    "paths of Windows": Situation(
        (
            ("T1", "sub-01", r"D:\data\sub-01\T1.nii.gz"),
            ("T1-2", "sub-02", r"D:\data\sub-02\T1.nii.gz"),
        ),
        (("T1", "/data/sub-02/T1.nii.gz"),),
        {"T1": None, "T1-2": ("T1", BY_PATH_END)},
    ),
    "unpacked since": Situation(
        (("T1", "sub-01", "/old/sub-01/T1.nii.gz"),),
        (("T1", "new/sub-01/T1.nii"),),
        {"T1": ("T1", BY_PATH_END)},
    ),
    "accents written in two ways": Situation(
        (("s", "p", "/old/Mu\u0308ller/s.nii"),),
        (("s", "new/M\u00fcller/s.nii"),),
        {"s": ("s", BY_PATH_END)},
    ),
    "nothing in common": Situation((("a", "p", "/old/a.nii"),), (("b", "new/b.nii"),), {"a": None}),
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_labelled_volume_gets_its_own_answer_or_none(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the order of the answers."""
    case = SITUATIONS[name]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "relative").symlink_to(tmp_path / "mount")
    for path, content in case.files.items():
        (tmp_path / "mount" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mount" / path).write_bytes(content)
    for path, target in case.links.items():
        (tmp_path / "mount" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mount" / path).symlink_to(target)
    rows = [
        VolumeRow(name, person, Path(os.path.join(tmp_path, path)))  # noqa: PTH118
        for name, person, path in case.rows
    ]
    regions = {row.volume_id: (RegionRow(row.volume_id, "head", 0, 1),) for row in rows}
    labelled = {name: label for name, label in regions.items() if name not in case.unlabelled}
    collection = Collection(tmp_path / "volumes.tsv", tuple(rows), labelled)
    answers = [
        {"volume_id": name, "path": path, "file": file_record(source_of(Path(path)))}
        for name, path in case.answers
    ]
    for order in (1, -1):
        matches = match_answers(collection, answers[::order])
        assert {match.volume_id: belonging(match) for match in matches} == case.wanted


def belonging(match: Match) -> tuple[str, str] | None:
    return (match.answer["volume_id"], match.matched_by) if match.answer else None
