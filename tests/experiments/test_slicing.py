"""The stopwatch beside slicing: that all three ways do the same work, not how long they take."""

from __future__ import annotations

import nibabel
import numpy as np
import pytest
from typer.testing import CliRunner

from fovnet.records import read_tsv
from fovnet.volume.slices.stack import slice_volume
from slicing import COLUMNS, SlicingTime, _floor, _monai, app, medians, slicing_times


@pytest.fixture
def body(tmp_path):
    """A smooth volume, stored LPS and gzip."""
    x, y, z = np.meshgrid(*[np.linspace(-1, 1, n) for n in (96, 96, 24)], indexing="ij")
    voxels = (1000 * np.exp(-2 * ((x - z / 3) ** 2 + y**2)) + 300 * (y > 0.5)).astype(np.int16)
    nibabel.save(
        nibabel.Nifti1Image(voxels, np.diag([-2.0, -2.0, 1.5, 1.0])), tmp_path / "body.nii.gz"
    )
    return tmp_path / "body.nii.gz"


@pytest.mark.slow
def test_monai_gives_the_same_slices_in_its_own_words(body):
    """Or its time would be that of other work: the same number of slices, and pictures that correlate with
    ours."""
    pytest.importorskip("monai")
    stack = slice_volume(body)
    chain, note = _monai(body, stack)
    assert not note
    theirs = np.asarray(chain())[0]
    assert theirs.shape == (128, 128, len(stack.pixels))
    # MONAI's axes are (right, front, head); a slice shows front on top and the right on the left
    same_way = theirs[::-1, ::-1].transpose(2, 1, 0)
    assert np.corrcoef(same_way[1:-1].ravel(), stack.pixels[1:-1].ravel())[0, 1] > 0.97


@pytest.mark.slow
def test_a_floor_is_given_only_where_a_file_holds_one_frame_as_plain_numbers(body, tmp_path):
    assert _floor(body, (96, 96, 24), 12) is not None
    frames = np.random.default_rng(0).integers(0, 900, (96, 96, 24, 2)).astype(np.int16)
    nibabel.save(
        nibabel.Nifti1Image(frames, np.diag([-2.0, -2.0, 1.5, 1.0])), tmp_path / "four.nii.gz"
    )
    single_frame, several_frames = slicing_times(
        [body, tmp_path / "four.nii.gz"], 1, lambda done, all_: None
    )
    assert (
        single_frame.over_floor is not None
        and several_frames.over_floor is None
        and "several frames" in several_frames.note
    )


def test_the_median_of_the_files_leaves_out_what_was_not_measured():
    rows = [
        SlicingTime("a", over_floor=1.0, monai_over_ours=3.0),
        SlicingTime("b", over_floor=2.0),
        SlicingTime("c", note="refused"),
    ]
    assert medians(rows) == {"over_floor": 1.5, "monai_over_ours": 3.0}
    assert medians(rows[2:]) == {"over_floor": None, "monai_over_ours": None}


@pytest.mark.slow
def test_the_command_writes_a_row_a_file_and_notes_what_was_refused(body, tmp_path):
    broken = body.with_name("broken.nii.gz")
    broken.write_bytes(body.read_bytes()[:500])
    result = CliRunner().invoke(
        app,
        [
            str(body.parent),
            "--out",
            str(tmp_path / "times.tsv"),
            "--repeats",
            "1",
        ],
    )
    assert result.exit_code == 3, result.output
    rows = {row["path"]: row for row in read_tsv(tmp_path / "times.tsv")}
    assert list(rows[str(body)]) == list(COLUMNS)
    assert float(rows[str(body)]["ours_ms"]) > 0 and float(rows[str(body)]["unpack_ms"]) < float(
        rows[str(body)]["floor_ms"]
    )
    assert rows[str(body)]["slices"] == "12" and "ends" in rows[str(broken)]["note"]
    assert "floor: unpacking" in result.output


@pytest.mark.slow
def test_a_refused_file_stops_no_other(body, tmp_path):
    (tmp_path / "text.nii").write_text("no volume " * 50)
    first, second = slicing_times([tmp_path / "text.nii", body], 1, lambda done, all_: None)
    assert first.ours_ms is None and "text file" in first.note
    assert second.slices == 12


def test_a_volume_that_is_not_there_makes_no_empty_table(tmp_path):
    done = CliRunner().invoke(app, [str(tmp_path / "nosuch"), "--out", str(tmp_path / "times.tsv")])
    assert done.exit_code != 0 and "nosuch: there is no such file" in str(done.exception)
    assert not (tmp_path / "times.tsv").exists()
