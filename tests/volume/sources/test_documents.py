"""Documents, programs and arrays are zip archives, and no archives of images."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from fovnet.errors import VolumeError
from fovnet.volume.sources.discovery import find_volumes
from fovnet.volume.sources.source import read


def zipped(*members: str) -> bytes:
    """A zip archive with these members, and an archive within it for each name that ends like one."""
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("[Content_Types].xml", b"x")
    outer = io.BytesIO()
    with zipfile.ZipFile(outer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in members:
            archive.writestr(
                name,
                inner.getvalue()
                if name.endswith((".xlsx", ".jar", ".zip", ".apk", ".bin"))
                else b"x" * 90,
            )
    return outer.getvalue()


DOCUMENTS = {
    "report.pptx": (
        "[Content_Types].xml",
        "ppt/embeddings/Microsoft_Excel_Sheet1.xlsx",
        "ppt/slides/slide1.xml",
    ),
    "macro.pptm": ("[Content_Types].xml", "ppt/embeddings/oleObject1.bin"),
    "letter.docx": ("_rels/.rels", "[Content_Types].xml", "word/embeddings/chart.xlsx"),
    "table.xlsx": ("xl/workbook.xml", "[Content_Types].xml", "xl/embeddings/other.zip"),
    "REPORT.PPTX": ("[Content_Types].xml", "ppt/embeddings/data.zip"),
    "drawing.vsdx": ("[Content_Types].xml", "visio/embeddings/a.xlsx"),
    "package.nupkg": ("[Content_Types].xml", "lib/a.zip", "a.nuspec"),
    "notes.odt": ("mimetype", "content.xml", "Object 1/table.zip"),
    "slides.odp": ("mimetype", "META-INF/manifest.xml", "Object 1.zip"),
    "book.epub": ("mimetype", "META-INF/container.xml", "extras.zip"),
    "viewer.jar": ("META-INF/MANIFEST.MF", "lib/other.jar"),
    "server.war": ("META-INF/", "META-INF/MANIFEST.MF", "WEB-INF/lib/other.jar"),
    "app.apk": ("AndroidManifest.xml", "assets/inner.zip"),
    "signed.apk": ("META-INF/MANIFEST.MF", "AndroidManifest.xml", "assets/inner.apk"),
    "app.aab": ("base/manifest/AndroidManifest.xml", "base/inner.zip"),
    "app.ipa": ("Payload/Viewer.app/Info.plist", "Payload/Viewer.app/inner.zip"),
    "tool.whl": ("tool/data.zip", "tool-1.0.dist-info/WHEEL"),
    "tool.egg": ("EGG-INFO/PKG-INFO", "data.zip"),
    "text.pages": ("Index.zip", "preview.jpg"),
    "place.kmz": ("doc.kml", "files/inner.zip"),
    "arrays.npz": ("a.npy", "b.npy"),
    "weights.pth": ("archive/data.pkl", "archive/version", "archive/inner.zip"),
    "fake.pptx": ("slide.xml", "inner.zip"),
    "odd.xyz": ("[Content_Types].xml", "inner.zip"),
    "without suffix": ("[Content_Types].xml", "ppt/embeddings/a.xlsx"),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_beside_a_volume_is_passed_over_and_named_itself_refused_as_one(
    tmp_path: Path, made, name: str
) -> None:
    made.nifti(tmp_path / "body.nii.gz", made.body())
    (tmp_path / name).write_bytes(zipped(*DOCUMENTS[name]))
    found = find_volumes([tmp_path])
    assert found.volume_paths == [tmp_path / "body.nii.gz"] and not found.series_rows
    assert found.passed_paths == [tmp_path / name]
    assert find_volumes([tmp_path / name]).volume_paths == [tmp_path / name]
    with pytest.raises(
        VolumeError,
        match=r"this is an? .*, not an archive of images|no DICOM image in this archive",
    ) as refusal:
        read(tmp_path / name)
    assert refusal.value.code == "volume-no-dicom"


@pytest.mark.parametrize(
    "name",
    [
        "study.zip",
        "study.ZIP",
        "study",
        "1.2.840.99",
        "study.osirixzip",
        "study.dat",
        "study.jar",
        "study.docx",
        "study.backup",
    ],
)
def test_an_archive_of_images_is_read_by_any_name(
    tmp_path: Path, write: ModuleType, name: str
) -> None:
    voxels = write.noise()
    write.save(tmp_path / "in", write.images(voxels))
    (tmp_path / "scans").mkdir()
    path = write.zipped(tmp_path / "scans" / name, tmp_path / "in")
    assert find_volumes([tmp_path / "scans"]).volume_paths == [path]
    assert np.array_equal(read(path).voxels, voxels)


@pytest.mark.parametrize(
    "name", [name for name in DOCUMENTS if name not in ("odd.xyz", "without suffix", "fake.pptx")]
)
def test_a_document_within_an_archive_of_images_is_no_loss(
    tmp_path: Path, write: ModuleType, name: str
) -> None:
    """As a viewer's programs on a medium, and a report among the images."""
    write.save(tmp_path / "in", write.images(write.noise()))
    (tmp_path / "in" / name).write_bytes(zipped(*DOCUMENTS[name]))
    (tmp_path / "in" / "META-INF").mkdir()
    (tmp_path / "in" / "META-INF" / "MANIFEST.MF").write_bytes(b"signed")
    volume = read(write.zipped(tmp_path / "study.zip", tmp_path / "in"))
    assert np.array_equal(volume.voxels, write.noise()) and not volume.notes


def test_the_images_that_a_program_is_tested_with_are_not_the_study_s(
    tmp_path: Path, write: ModuleType, made
) -> None:
    write.save(tmp_path / "wheel" / "tool" / "tests", write.images(write.noise()))
    (tmp_path / "wheel" / "tool-1.0.dist-info").mkdir()
    (tmp_path / "wheel" / "tool-1.0.dist-info" / "WHEEL").write_bytes(b"x")
    (tmp_path / "scans").mkdir()
    made.nifti(tmp_path / "scans" / "body.nii.gz", made.body())
    write.zipped(tmp_path / "scans" / "tool-1.0-py3-none-any.whl", tmp_path / "wheel")
    assert find_volumes([tmp_path / "scans"]).volume_paths == [tmp_path / "scans" / "body.nii.gz"]


def test_an_archive_of_archives_is_still_told(tmp_path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("scan.dcm", b"x")
    with zipfile.ZipFile(tmp_path / "study.zip", "w") as archive:
        archive.writestr("patient.zip", inner.getvalue())
    with pytest.raises(VolumeError) as refusal:
        read(tmp_path / "study.zip")
    assert refusal.value.code == "volume-archive-nested"
