"""The chapter on volumes and subjects: which went in, which were refused, and who is in which
split."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from fovnet.evaluate.cases import Case, ListedVolume
from fovnet.evaluate.evaluation import Evaluation
from fovnet.report.content.cells import ReportTable
from fovnet.report.content.flow import TITLE_BY_SPLIT, FlowView, flow_table, flow_view
from fovnet.report.content.people import people_table
from fovnet.words import several


@dataclass(frozen=True)
class Refusal:
    """A refused volume, and why, in a sentence."""

    volume_id: str
    sentence: str


@dataclass(frozen=True)
class CohortChapter:
    """Volumes and subjects.

    sentence         how many there are
    by_split         their numbers by collection and split
    flow             the way from the volumes listed to those answered
    flow_table       the same as a table
    refusal_reasons  numbers of refused volumes by reason
    refused          every refused volume by name
    attributes       the recorded attributes of subjects, by split
    """

    sentence: str
    by_split: ReportTable
    flow: FlowView
    flow_table: ReportTable
    refusal_reasons: ReportTable
    refused: tuple[Refusal, ...]
    attributes: ReportTable


def cohort_of(
    evaluation: Evaluation, cases: Sequence[Case], manifest: Sequence[ListedVolume]
) -> CohortChapter:
    """The chapter on volumes and subjects, from those listed (`manifest`) and those evaluated."""
    doubted_count = sum(volume.extents == "unsure" for volume in evaluation.volumes)
    flow = flow_view(manifest, doubted_count)
    return CohortChapter(
        sentence=_numbers_sentence(manifest),
        by_split=_counts_by_split(manifest),
        flow=flow,
        flow_table=flow_table(flow),
        refusal_reasons=refusal_reasons(manifest),
        refused=_refusals_by_name(cases, manifest),
        attributes=people_table(manifest),
    )


def _numbers_sentence(manifest: Sequence[ListedVolume]) -> str:
    """How many volumes and subjects there are, and how volumes are named, in sentences."""
    if not manifest:
        return "This report has no list of prepared volumes."
    subject_count = len({volume.subject_id for volume in manifest})
    sentence = (
        f"{several(len(manifest), 'volume')} of {several(subject_count, 'subject')}. All volumes "
        "of one subject are in the same split; this was checked."
    )
    if any(volume.is_hashed for volume in manifest):
        sentence += (
            " Volumes are named by hashes; slices/manifest.tsv, which stays with the data, has the "
            "names (column shown_id)."
        )
    return sentence


def _counts_by_split(manifest: Sequence[ListedVolume]) -> ReportTable:
    """One row per collection and split."""
    present_splits = {volume.split for volume in manifest}
    ordered_splits = [split for split in TITLE_BY_SPLIT if split in present_splits]
    ordered_splits += sorted(present_splits - {*ordered_splits, ""})
    rows = []
    for collection in sorted({volume.collection for volume in manifest}):
        for split in (*ordered_splits, ""):
            volumes = [
                volume
                for volume in manifest
                if (volume.collection, volume.split) == (collection, split)
            ]
            if volumes:
                rows.append(
                    (collection or "–", split or "for prediction only", *_count_cells(volumes))
                )
    header = ("collection", "split", "subjects", "volumes", "labelled", "slices", "refused")
    return ReportTable(header, rows, name="inputs")


def _count_cells(volumes: Sequence[ListedVolume]) -> tuple[str, ...]:
    """Numbers of subjects, volumes, labelled volumes, slices and refused volumes, as text."""
    subject_count = len({volume.subject_id for volume in volumes})
    labelled_count = sum(volume.is_labelled for volume in volumes)
    slice_count = sum(volume.slices for volume in volumes)
    refused_count = sum(volume.status == "refused" for volume in volumes)
    return tuple(
        f"{count:,}"
        for count in (subject_count, len(volumes), labelled_count, slice_count, refused_count)
    )


def refusal_reasons(manifest: Sequence[ListedVolume]) -> ReportTable:
    """Numbers of refused volumes by code, most frequent first, each with one message as an
    example."""
    messages_by_code: dict[str, list[str]] = defaultdict(list)
    for volume in manifest:
        if volume.status == "refused":
            messages_by_code[volume.code or "no code"].append(volume.message)
    codes_by_frequency = sorted(
        messages_by_code, key=lambda code: (-len(messages_by_code[code]), code)
    )
    rows = [
        (
            code,
            f"{len(messages_by_code[code]):,}",
            messages_by_code[code][0] or "no reason was recorded",
        )
        for code in codes_by_frequency
    ]
    return ReportTable(("reason", "volumes", "for example"), rows, name="refused")


def _refusals_by_name(
    cases: Sequence[Case], manifest: Sequence[ListedVolume]
) -> tuple[Refusal, ...]:
    """Every refused volume once, with its message."""
    message_by_volume_id = {
        volume.volume_id: volume.message for volume in manifest if volume.status == "refused"
    }
    message_by_volume_id |= {
        case.volume_id: case.message for case in cases if case.status == "refused"
    }
    messages_by_name = sorted(message_by_volume_id.items())
    return tuple(
        Refusal(volume_id, message or "no reason was recorded")
        for volume_id, message in messages_by_name
    )
