"""An archive of one scanner: its own contrasts for everybody, and what is shown as before."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis.strategies import integers

from fovnet.phantom.collection import simulate_collection
from fovnet.phantom.one_scanner import draw_scanner
from fovnet.records import read_tsv


@given(seed=integers(0, 10_000))
def test_a_scanner_is_one_and_another_is_another(seed: int) -> None:
    mine = draw_scanner(seed)
    assert mine == draw_scanner(seed) != draw_scanner(seed + 1)
    assert [one.is_inverted for one in mine.contrasts] == [False, False, True]


@pytest.mark.slow
def test_all_bodies_have_its_sequences_and_show_what_they_show_elsewhere(tmp_path: Path) -> None:
    """Fields of view, and so the regions, are drawn before the scanner is known."""
    there, anywhere = (
        simulate_collection(
            tmp_path / name, subjects=1, volumes_per_subject=1, seed=5, scanner=scanner
        )
        for name, scanner in (("there", 8), ("anywhere", None))
    )
    sequences = {one.name for one in draw_scanner(8).sequences}
    assert {row["sequence"] for row in read_tsv(there)} <= sequences
    mine, theirs = (read_tsv(table.parent / "regions.tsv") for table in (there, anywhere))
    assert [row["region"] for row in mine] == [row["region"] for row in theirs]
    volumes = [sorted((table.parent / "volumes").glob("*.nii.gz")) for table in (there, anywhere)]
    assert all(a.read_bytes() != b.read_bytes() for a, b in zip(*volumes, strict=True))
