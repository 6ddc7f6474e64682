"""The input volumes by collection and split, and those that were refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fovnet.evaluate.cases import Case
from fovnet.report.content.page import Refusal, Shown, Table
from fovnet.words import several


def inputs_table(manifest: Sequence[Mapping[str, Any]]) -> Table:
    """One row per collection and split."""
    splits = [split for split in ("train", "validation", "test") if any(row.get("split") == split for row in manifest)]
    splits += sorted({str(row.get("split") or "") for row in manifest} - {*splits, ""})
    rows: list[tuple[str | Shown, ...]] = []
    for collection in sorted({str(row.get("collection") or "") for row in manifest}):
        for split in (*splits, ""):
            here = [r for r in manifest if str(r.get("collection") or "") == collection and str(r.get("split") or "") == split]
            if here:
                rows.append((collection or "–", split or "for prediction only", *_counts(here)))
    return Table(("collection", "split", "subjects", "volumes", "labelled", "slices", "refused"), tuple(rows), name="inputs")


def _counts(rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    subjects = len({row.get("subject_id") for row in rows})
    labelled = sum(_true(row.get("labelled")) for row in rows)
    slices = sum(int(row.get("slices") or 0) for row in rows)
    refused = sum(row.get("status") == "refused" for row in rows)
    return tuple(f"{count:,}" for count in (subjects, len(rows), labelled, slices, refused))


def _true(value: Any) -> bool:
    """A flag that may have been read from a table: True, "true", "yes", "1"."""
    return str(value).strip().lower() in {"true", "yes", "1"}


def inputs_sentence(manifest: Sequence[Mapping[str, Any]]) -> str:
    """Numbers of volumes and subjects, and how volumes are named."""
    if not manifest:
        return "No list of prepared volumes was handed to this report."
    subjects = len({row.get("subject_id") for row in manifest})
    hashed = " Volumes are named by hashes; slices/manifest.tsv, which stays with the data, tells them (column shown_id)."
    return (
        f"{several(len(manifest), 'volume')} of {several(subjects, 'subject')}. "
        "All volumes of one subject stand in the same split; this was checked."
        f"{hashed if any(row.get('hashed') for row in manifest) else ''}"
    )


def refusals(cases: Sequence[Case], manifest: Sequence[Mapping[str, Any]]) -> tuple[Refusal, ...]:
    """Every refused volume once, with its message."""
    sentences = {str(row.get("volume_id")): str(row.get("message") or "") for row in manifest if row.get("status") == "refused"}
    sentences |= {case.volume_id: case.message for case in cases if case.status == "refused"}
    return tuple(Refusal(volume_id, sentence or "no reason was recorded") for volume_id, sentence in sorted(sentences.items()))
