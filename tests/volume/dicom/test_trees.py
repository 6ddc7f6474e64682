"""Folders, trees and archives: every volume found once, everything else named, nobody's name anywhere."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
from pydicom.config import disable_value_validation

from fovnet.decision.answer import answer_facts, make_refusal, table_rows
from fovnet.decision.judge import Judge, MemberOutputs
from fovnet.decision.rule import Rule
from fovnet.errors import VolumeError
from fovnet.records import read_tsv, write_json, write_tsv
from fovnet.regions import DEFAULT
from fovnet.volume.adapters.dicom import gather_dicom
from fovnet.volume.adapters.gathering import write_tables
from fovnet.volume.collection.pack import slice_collections
from fovnet.volume.dicom.address import address
from fovnet.volume.dicom.survey import survey
from fovnet.volume.dicom.table import COLUMNS, short_hash
from fovnet.volume.slices.stack import slice_volume
from fovnet.volume.sources.discovery import find_volumes, name_volumes
from fovnet.volume.sources.memory import BYTES_PER_PACKED_BYTE, LEAST_BYTES, estimate_bytes_to_read
from fovnet.volume.sources.readers import volume_name
from fovnet.volume.sources.source import read, source_of

NAME, BORN = "Zqxavier", "19370203"


def tree(at: Path, write) -> Path:
    """Two series in one folder, one in its own, one in an archive; a localiser; two broken files and one of
    another kind."""
    write.save(at / "mixed", write.images(write.noise(seed=1), series=11), "a")
    write.save(at / "mixed", write.images(write.noise(seed=2), series=12), "b")
    write.save(at / "alone", write.images(write.noise(seed=3), series=13))
    write.save(at / "packed", write.images(write.noise(seed=4), series=14))
    write.zipped(at / "packed.zip", at / "packed")
    for path in [*(at / "packed").iterdir()]:
        path.unlink()
    write.save(at / "loc", write.images(write.noise(), series=15, SeriesDescription="localizer"))
    (at / "mixed" / "broken.dcm").write_bytes(bytes(128) + b"DICM" + bytes(99))
    (at / "half.dcm").write_bytes((at / "alone" / "im000.dcm").read_bytes()[:500])
    (at / "notes.nii").write_text("no volume")
    return at


def test_a_series_that_cannot_be_grouped_stops_no_other(tmp_path, write, monkeypatch):
    """Whatever grouping raises."""
    module = sys.modules["fovnet.volume.dicom.survey"]
    for number in (11, 12, 13):
        write.save(tmp_path / str(number), write.images(write.noise(seed=number), series=number))
    real = module.group_into_volumes
    monkeypatch.setattr(
        module,
        "group_into_volumes",
        lambda frames: (
            1 / 0 if "12" in {one.facts.series_number for one in frames} else real(frames)
        ),
    )
    found = find_volumes([tmp_path])
    assert {
        path.parent.name if path.suffix == ".dcm" else path.name for path in found.volume_paths
    } == {
        "11",
        "12",
        "13",
    }
    assert {
        row["reason"].split(":")[1].strip()[:10]
        for row in found.series_rows
        if row["kind"] == "unreadable"
    } == {"fovnet fai"}


def test_a_tree_gives_each_series_once_and_every_broken_file(tmp_path, write):
    found = find_volumes([tree(tmp_path, write)])
    names = [path.relative_to(tmp_path).as_posix() for path in found.volume_paths]
    series = {
        series.frames[0].facts.series_number: series.series_id
        for series in survey(tmp_path / "mixed").series
    }
    assert sorted(names) == sorted(
        [
            "alone",
            f"mixed#{series['11']}",
            f"mixed#{series['12']}",
            "packed.zip",
            "mixed/broken.dcm",
            "half.dcm",
            "notes.nii",
        ]
    )
    seeds = {f"mixed#{series['11']}": 1, f"mixed#{series['12']}": 2, "alone": 3, "packed.zip": 4}
    for path, name in zip(found.volume_paths, names, strict=True):
        if name in seeds:
            assert np.array_equal(read(path).voxels, write.noise(seed=seeds[name]))
        else:
            with pytest.raises(VolumeError):
                read(path)
    kinds = sorted(row["kind"] for row in found.series_rows)
    assert kinds == [
        "localizer",
        "unreadable",
        "unreadable",
        "volume",
        "volume",
        "volume",
        "volume",
    ]
    assert len(set(name_volumes(found.volume_paths))) == len(found.volume_paths)


@pytest.mark.parametrize("beside", [True, False])
def test_a_nifti_called_dcm_is_a_volume_and_no_broken_dicom(tmp_path, write, beside):
    """It is read and answered by its contents; found.tsv called it unreadable beside that answer."""
    if beside:
        write.save(tmp_path, write.images(write.noise()))
    stray = tmp_path / "stray.dcm"
    stray.write_bytes(nib.nifti1.Nifti1Image(write.noise(seed=5), np.eye(4)).to_bytes())
    for place in (tmp_path, stray):
        found = find_volumes([place])
        assert stray in found.volume_paths and not [
            row for row in found.series_rows if row["kind"] == "unreadable"
        ]
    assert np.array_equal(np.squeeze(read(stray).voxels), write.noise(seed=5))


def test_what_is_included_is_found_too(tmp_path, write):
    plain, more = find_volumes([tree(tmp_path, write)]), find_volumes([tmp_path], ["localizer"])
    [localizer] = set(more.volume_paths) - set(plain.volume_paths)
    assert localizer.parent == tmp_path and np.array_equal(read(localizer).voxels, write.noise())


def test_images_named_one_by_one_are_read_as_their_series(tmp_path, write):
    tree(tmp_path, write)
    files = sorted((tmp_path / "alone").iterdir())
    assert find_volumes(files[:4]).volume_paths == [tmp_path / "alone"]
    first = next(
        series
        for series in survey(tmp_path / "mixed").series
        if series.frames[0].facts.series_number == "11"
    )
    assert find_volumes(sorted((tmp_path / "mixed").glob("a*.dcm"))).volume_paths == [
        address(tmp_path / "mixed", first.series_id)
    ]


def test_a_place_of_which_nothing_is_read_is_not_passed_over(tmp_path, write):
    folder = write.save(
        tmp_path / "loc", write.images(write.noise(), SeriesDescription="localizer")
    )
    assert find_volumes([folder]).volume_paths == [folder]
    with pytest.raises(VolumeError, match="--include localizer"):
        read(folder)


def test_a_folder_of_one_archive_of_which_nothing_is_read_says_why(tmp_path, write):
    folder = write.save(
        tmp_path / "loc", write.images(write.noise(), SeriesDescription="localizer")
    )
    (tmp_path / "tree").mkdir()
    archive = write.zipped(tmp_path / "tree" / "loc.zip", folder)
    assert find_volumes([tmp_path / "tree"]).volume_paths == [archive]
    with pytest.raises(VolumeError, match="--include localizer"):
        read(archive)
    write.save(tmp_path / "tree" / "series", write.images(write.noise(seed=3), series=4))
    assert find_volumes([tmp_path / "tree"]).volume_paths == [tmp_path / "tree" / "series"]


def test_a_series_over_two_folders_is_one_volume(tmp_path, write):
    files = write.images(write.noise())
    write.save(tmp_path / "disc1", files[:5])
    write.save(tmp_path / "disc2", files[5:])
    assert find_volumes([tmp_path]).volume_paths == [tmp_path]
    assert np.array_equal(read(tmp_path).voxels, write.noise())


def test_names_of_series_hold_no_identity_and_no_slash(tmp_path, write):
    tree(tmp_path, write)
    assert volume_name(tmp_path / "a.zip#0123456789ab") == "a-0123456789ab"
    assert (
        volume_name(tmp_path / "mixed") == "mixed"
        and volume_name(tmp_path / "mixed" / "..") == tmp_path.name
    )


def test_a_changed_image_changes_the_places_of_its_series_and_not_those_of_another(tmp_path, write):
    write.save(tmp_path, write.images(write.noise(), series=1), "a")
    write.save(tmp_path, write.images(write.noise(), series=2), "b")
    one, other = (
        source_of(address(tmp_path, series.series_id)) for series in survey(tmp_path).series
    )
    before = one.file_stamps, other.file_stamps
    changed = write.images(write.noise(), series=2, SeriesDescription="longer than before")[0]
    write.save(tmp_path, [changed], "b")
    assert one.is_unchanged() and not other.is_unchanged() and other.file_stamps == before[1]
    assert one.look_again().file_stamps == before[0] and other.look_again().file_stamps != before[1]


def test_a_collection_names_a_series_of_a_folder(tmp_path, write):
    """volumes.tsv holds addresses; a second slicing finds the first one's work, images and all."""
    write.save(tmp_path / "dicom", write.images(write.noise(seed=1), series=1), "a")
    write.save(tmp_path / "dicom", write.images(write.noise(seed=2), series=2), "b")
    ids = [series.series_id for series in survey(tmp_path / "dicom").series]
    rows = [
        {"volume_id": f"v{n}", "subject_id": "s", "path": f"dicom#{one}"}
        for n, one in enumerate(ids)
    ]
    write_tsv(tmp_path / "volumes.tsv", ("volume_id", "subject_id", "path"), rows)
    pack = slice_collections({"c": tmp_path}, tmp_path / "out")
    assert [record.status for record in pack.records] == ["ok", "ok"] and len(
        {record.checksum for record in pack.records}
    ) == 2
    for index, one in enumerate(ids):
        assert np.array_equal(
            pack.stack_of_volume(index).pixels,
            slice_volume(address(tmp_path / "dicom", one)).pixels,
        )
    cached = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "cache").iterdir()}
    slice_collections({"c": tmp_path}, tmp_path / "out")
    assert {
        path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "cache").iterdir()
    } == cached and len(cached) == 2


def planted(one) -> None:
    """A rare name, and a birthday, in every text element that says something of a person, a place or a
    day."""
    for key in (
        "PatientName",
        "OtherPatientIDs",
        "AccessionNumber",
        "InstitutionName",
        "ReferringPhysicianName",
        "StudyDescription",
        "SeriesDescription",
        "ProtocolName",
        "SequenceName",
        "PatientComments",
        "StationName",
        "ImageComments",
        "StudyID",
        "OperatorsName",
        "PatientAddress",
        "PatientID",
        "ReceiveCoilName",
        "RequestedProcedureDescription",
    ):
        setattr(one, key, NAME)
    for key in ("PatientBirthDate", "StudyDate", "SeriesDate", "AcquisitionDate", "ContentDate"):
        setattr(one, key, BORN)
    for key in ("StudyTime", "AcquisitionTime", "ContentTime"):
        setattr(one, key, "030219.37")
    one.add_new(0x00091001, "LO", NAME)


SPOILT = {
    "sound": {},
    "echoes": {"EchoTime": lambda k: str(k % 2)},
    "a localiser": {"ImageType": ["ORIGINAL", "PRIMARY", "LOCALIZER", NAME.upper()]},
    "another modality": {"Modality": NAME.upper()[:8]},
    "other colours": {"PhotometricInterpretation": NAME.upper()},
    "no geometry": {"ImageOrientationPatient": ["0"] * 6},
    "doubled": {"ImagePositionPatient": ["0", "0", "0"]},
    "words for numbers": {"BitsStored": 40},
    "a series number of words": {"SeriesInstanceUID": f"1.2.{BORN}"},
}


@pytest.mark.parametrize("spoilt", SPOILT.values(), ids=SPOILT)
def test_no_output_holds_a_name_an_id_or_a_date(tmp_path, write, spoilt):
    files = write.images(write.noise(), **spoilt)
    for one in files:
        planted(one)
    folder, out = write.save(tmp_path / "series", files), tmp_path / "out"
    (folder / "broken.dcm").write_bytes((folder / "im000.dcm").read_bytes()[:700])
    found = find_volumes([folder], ["localizer", "derived", "phase", "single", "repeat"])
    write_tsv(out / "found.tsv", COLUMNS, found.series_rows)
    for volume_id, path in zip(name_volumes(found.volume_paths), found.volume_paths, strict=True):
        try:
            stack = slice_volume(path)
        except VolumeError as fault:
            given, stack, raw = make_refusal(volume_id, str(path), fault), None, None
        else:
            raw = np.full((len(stack.pixels), len(DEFAULT.classes)), 1 / len(DEFAULT.classes))
            given = Judge(DEFAULT, Rule()).answer(
                volume_id,
                str(path),
                MemberOutputs(raw[None].astype(np.float32)),
                stack,
                stack.notes,
            )
        write_json(
            out / f"{volume_id}.json",
            answer_facts(given, stack, raw, DEFAULT) | {"rows": table_rows(given, stack)},
        )
    for written in out.iterdir():
        text = written.read_text().replace(str(tmp_path), "")
        assert NAME.lower() not in text.lower() and BORN not in text and "030219" not in text, (
            written.name
        )
    assert any(json.loads(path.read_text())["volume_id"] for path in out.glob("*.json"))


@pytest.mark.slow
def test_the_real_series_are_read_or_refused_as_their_catalogue_says(shared):
    """Shape and spacing, brought to RAS, as the table of the volumes has them; localisers and films of one
    slice are refused."""
    refused = {
        "abd_dbdicom_loc": "volume-localizer",
        "pelvis_px0218_loc": "volume-localizer",
        "leg_knee_fodicom_enh": "volume-single",
    }
    shapes = {
        "abd_CMB_T2_a": (536, 512, 37),
        "abd_dbdicom_B0": (128, 128, 13),
        "chest_breast_UCSF_06": (256, 256, 60),
        "chest_breast_uta4_p1": (352, 352, 128),
        "head_dashvtk_T1post": (260, 320, 24),
        "leg_thigh_STS001_T2": (384, 384, 40),
        "pelvis_px0000_T2tra": (384, 384, 19),
        "pelvis_px0001_T2sag": (320, 320, 19),
        "pelvis_px0218_tfl": (64, 48, 36),
    }
    folder = shared / "data" / "volumes"
    geometry = {
        row["volume_id"]: row["shape_spacing_orientation"]
        for row in read_tsv(shared / "data" / "volumes.tsv")
    }
    for path in sorted([*folder.glob("*.zip"), *folder.glob("*.dcm")]):
        try:
            volume = read(path)
        except VolumeError as fault:
            assert fault.code == refused[path.stem]
        else:
            assert (
                volume.voxels.shape == shapes[path.stem]
                and len(volume.images.uids) == shapes[path.stem][2]
            )
            spacing_mm = [
                float(mm) for mm in geometry[path.stem].split("@")[1].split(",")[0].split("x")
            ]
            assert np.allclose(volume.spacing_mm, spacing_mm, atol=0.006)


def test_a_tree_becomes_the_table_of_a_collection(tmp_path, write):
    """Four series of one person; the localiser, two broken files and a text are set aside; the table is
    sliced as it stands."""
    gathered = gather_dicom(tree(tmp_path / "tree", write))
    assert sorted(one.kind for one in gathered.aside_rows) == [
        "broken",
        "broken",
        "left out",
        "left out",
    ]
    assert sorted(
        (one.path.name, one.code) for one in gathered.aside_rows if one.kind == "broken"
    ) == [
        ("broken.dcm", "volume-format"),
        ("half.dcm", "volume-truncated"),
    ]
    assert not [one for one in gathered.aside_rows if "[volume-" in one.reason], (
        "aside.tsv has a column for the code"
    )
    assert len(gathered.volume_rows) == 4 and {row.subject_id for row in gathered.volume_rows} == {
        short_hash("someone")
    }
    table = write_tables(tmp_path / "tables", gathered)
    pack = slice_collections({"archive": table.parent}, tmp_path / "slices")
    assert [record.status for record in pack.records] == ["ok"] * 4
    assert "someone" not in table.read_text() + (table.parent / "aside.tsv").read_text()


def test_a_damaged_archive_of_a_tree_is_broken_and_one_of_another_format_is_left_out(
    tmp_path, write
):
    """What a copy cut short held is not in the table, and somebody has to know."""
    write.save(tmp_path / "tree" / "one", write.images(write.noise()))
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("im.dcm", (tmp_path / "tree" / "one" / "im000.dcm").read_bytes())
    (tmp_path / "tree" / "cut.zip").write_bytes(whole.getvalue()[:-40])
    with zipfile.ZipFile(tmp_path / "tree" / "other.zip", "w") as archive:
        archive.writestr("notes.txt", b"x")
    gathered = gather_dicom(tmp_path / "tree")
    assert {one.path.name: (one.kind, one.code) for one in gathered.aside_rows}["cut.zip"] == (
        "broken",
        "volume-corrupt",
    )
    assert {one.path.name: one.kind for one in gathered.aside_rows}["other.zip"] == "left out"
    assert gathered.broken_count == 1 and len(gathered.volume_rows) == 1


@pytest.mark.parametrize(
    ("written", "tesla"), [("3", "3"), ("15000", "1.5"), ("0", None), (None, None)]
)
@pytest.mark.parametrize(
    ("maker", "shown"),
    [("GE MEDICAL SYSTEMS", "GE"), ("Siemens Healthineers", "Siemens"), ("Dr. Zqxavier", None)],
)
def test_the_scanner_is_told_in_known_words_alone(tmp_path, write, written, tesla, maker, shown):
    more = {"Manufacturer": maker} | ({} if written is None else {"MagneticFieldStrength": written})
    write.save(tmp_path / "one", write.images(write.noise(), **more))
    (volume,) = gather_dicom(tmp_path).volume_rows
    expected = {"manufacturer": shown, "field_strength": tesla, "plane": "axial"}
    assert volume.attributes == {name: value for name, value in expected.items() if value}


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("HEAD", "HEAD"),
        ("Thorax", "CHEST"),
        ("Zqxavier leg", "LOWERLIMB"),
        ("Zqxavier", "OTHER"),
        ("", None),
    ],
)
def test_the_body_part_of_the_header_is_told_in_known_words_alone(tmp_path, write, written, shown):
    # no program should write such words, and some do
    with disable_value_validation():
        write.save(tmp_path / "one", write.images(write.noise(), BodyPartExamined=written))
    (volume,) = gather_dicom(tmp_path).volume_rows
    assert volume.attributes.get("body_part_examined") == shown


def test_an_object_of_another_kind_in_a_series_is_no_slice_of_it(tmp_path, write):
    """Two of its forty images are a CT and a capture of a screen: what is left is a volume, its neighbours
    stand where they stood."""
    images = write.images(write.noise((20, 24, 40)))
    images[7].Modality = "CT"
    images[20].ConversionType, images[20].SOPClassUID = "WSD", "1.2.840.10008.5.1.4.1.1.7"
    write.save(tmp_path, images)
    found = find_volumes([tmp_path])
    assert sorted(row["kind"] for row in found.series_rows) == ["modality", "screenshot", "volume"]
    volume = read(found.volume_paths[0])
    assert volume.images is not None
    assert {images[7].SOPInstanceUID, images[20].SOPInstanceUID}.isdisjoint(volume.images.uids)
    assert volume.voxels.shape == (20, 24, 40) and any(
        "interpolated" in note for note in volume.notes
    )


@pytest.mark.parametrize("folders", [("first", "second"), ("second", "first")])
def test_a_copy_that_was_cut_short_does_not_hide_the_whole_one(tmp_path, write, folders):
    """The same series in two folders, once without its last image, once with one image cut in the middle:
    together they are whole."""
    short, cut = folders
    images = write.images(write.noise(seed=5))
    write.save(tmp_path / short, images)
    write.save(tmp_path / cut, images)
    (tmp_path / short / "im008.dcm").unlink()
    half = tmp_path / cut / "im003.dcm"
    half.write_bytes(half.read_bytes()[:-200])
    (path,) = find_volumes([tmp_path]).volume_paths
    assert np.array_equal(read(path).voxels, write.noise(seed=5))


def test_a_series_of_a_folder_takes_the_memory_of_its_own_files(tmp_path, write):
    """Wherever they lie below it; a batch with a budget would else read one after the other what fits beside
    each other."""
    small, large = (
        write.images(write.noise()),
        write.images(write.noise((60, 64, 9), seed=1), series=9),
    )
    write.save(tmp_path, small, "s")
    write.save(tmp_path / "below", large, "l")
    sources = [source_of(address(tmp_path, series.series_id)) for series in survey(tmp_path).series]
    wanted = [estimate_bytes_to_read(source) - LEAST_BYTES for source in sources]
    sizes = [
        sum(path.stat().st_size for path in tmp_path.rglob(f"{letter}*.dcm")) for letter in "sl"
    ]
    assert wanted == [BYTES_PER_PACKED_BYTE * size for size in sizes]
    assert estimate_bytes_to_read(source_of(tmp_path)) - LEAST_BYTES == sum(wanted)


@pytest.mark.parametrize("other", ["a", "c"], ids=["copies come first", "copies come last"])
@pytest.mark.parametrize("kind", ["copies", "phases"])
def test_a_folder_with_copies_or_another_phase_stands_for_no_single_series(
    tmp_path, write, kind, other
):
    """One study fetched twice, once with another series beside it: read by itself, the folder `b` holds two
    volumes."""
    again = {} if kind == "copies" else {"TriggerTime": "50", "InstanceNumber": lambda k: k + 10}
    write.save(
        tmp_path / other,
        write.images(
            write.noise(seed=1), series=1, **({} if kind == "copies" else {"TriggerTime": "0"})
        ),
        "x",
    )
    write.save(
        tmp_path / "b",
        write.images(write.noise(seed=1 if kind == "copies" else 3), series=1, **again),
        "x",
    )
    write.save(tmp_path / "b", write.images(write.noise(seed=2), series=2), "y")
    found = find_volumes([tmp_path]).volume_paths
    assert len(found) == 2
    assert {read(path).voxels.tobytes() for path in found} == {
        write.noise(seed=seed).astype(np.float32).tobytes() for seed in (1, 2)
    }


def test_files_named_one_by_one_are_read_where_a_folder_below_holds_copies(tmp_path, write):
    write.save(tmp_path, write.images(write.noise()))
    write.save(tmp_path / "backup", write.images(write.noise()))
    found = find_volumes(sorted(tmp_path.glob("*.dcm")))
    assert found.volume_paths == [tmp_path] and [row["copies"] for row in found.series_rows] == [9]
    assert np.array_equal(read(tmp_path).voxels, write.noise())


def test_two_patients_of_one_series_uid_in_folders_of_their_own_are_two_rows(tmp_path, write):
    for seed, patient in enumerate(("anna", "bert")):
        write.save(
            tmp_path / patient,
            write.images(
                write.noise(seed=seed),
                PatientID=patient,
                SOPInstanceUID=lambda k, seed=seed: f"1.2.3.{seed}.{k}",
            ),
        )
    gathered = gather_dicom(tmp_path)
    assert {row.subject_id for row in gathered.volume_rows} == {
        short_hash("anna"),
        short_hash("bert"),
    } and not gathered.aside_rows


def test_what_is_told_of_broken_files_beside_a_series_is_no_longer_told_once_they_are_gone(
    tmp_path, write
):
    """The slices come from the cache, for the series' own files are the same."""
    write.save(tmp_path / "set" / "s", write.images(write.noise((40, 40, 12))))
    (tmp_path / "set" / "s" / "bad.dcm").write_bytes(bytes(500))
    write_tsv(
        tmp_path / "set" / "volumes.tsv",
        ["volume_id", "subject_id", "path"],
        [{"volume_id": "a", "subject_id": "a", "path": "s"}],
    )
    first = slice_collections({"set": tmp_path / "set"}, tmp_path / "out").records[0].notes
    (tmp_path / "set" / "s" / "bad.dcm").unlink()
    assert first == ("1 object beside it could not be used",)
    assert slice_collections({"set": tmp_path / "set"}, tmp_path / "out").records[0].notes == ()


def test_one_patient_id_for_all_is_a_subject_a_person_and_said(tmp_path, write):
    for number in range(5):
        who = {
            "PatientID": "0",
            "PatientName": f"SUBJ^{'ABCDE'[number]}LPHA",
            "PatientBirthDate": f"196{number}0101",
            "StudyInstanceUID": f"1.2.3.{number}",
            "SeriesInstanceUID": f"1.2.4.{number}",
            "SOPInstanceUID": lambda k, number=number: f"1.2.5.{number}.{k}",
        }
        write.save(tmp_path / "in" / f"P{number}", write.images(write.noise(), **who))
    gathered = gather_dicom(tmp_path / "in")
    assert len({row.subject_id for row in gathered.volume_rows}) == len(gathered.volume_rows) == 5
    (note,) = gathered.note_rows
    assert (
        note.kind == "note"
        and "is that of 5 people, by name, birth date: 5 subjects" in note.reason
    )


def test_a_series_with_one_id_in_two_spellings_is_one_volume(tmp_path, write):
    voxels = write.noise()
    who = {"PatientName": "TEST^ONE", "PatientBirthDate": "19700101"}
    images = write.images(voxels, PatientID=lambda k: "0071234" if k % 2 else "71234", **who)
    write.save(tmp_path, images)
    volume = read(tmp_path)
    assert np.array_equal(volume.voxels, voxels)
    assert volume.notes == (
        "its PatientID is written in several ways (leading zeros, case, blanks)",
    )


def test_a_flat_folder_reads_each_header_once(tmp_path, write, monkeypatch):
    """A thousand images whose series have a UID an image took a thousand looks at all of them."""
    import fovnet.volume.dicom.survey as module

    asked: list[str] = []
    stamp = module._stamp
    monkeypatch.setattr(module, "_stamp", lambda path: asked.append(path) or stamp(path))
    opened: list[object] = []
    read_frames = module.read_frames
    monkeypatch.setattr(
        module, "read_frames", lambda item: opened.append(item) or read_frames(item)
    )
    counts = []
    for series in (4, 8):
        folder = tmp_path / str(series)
        for number in range(series):
            images = write.images(
                write.noise((6, 7, 5)),
                series=number + 1,
                SeriesInstanceUID=lambda k, number=number: f"1.2.{number}.{k}",
            )
            write.save(folder, images, f"s{number}-")
        asked.clear()
        opened.clear()
        sources = find_volumes([folder]).sources
        for source in sources:
            assert len(source.files) == 5
        assert len(sources) == series and len(opened) == 5 * series
        counts.append(len(asked))
    assert counts[1] < 2.2 * counts[0]
