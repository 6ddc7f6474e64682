"""The chapter on volumes and subjects: which went in, which were refused, and who is in which split."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from fovnet.evaluate.cases import Case, ListedVolume
from fovnet.evaluate.evaluation import Evaluation
from fovnet.report.content.cells import Table
from fovnet.report.content.flow import SPLITS, FlowView, flow_table, flow_view
from fovnet.report.content.people import people_table
from fovnet.words import several


@dataclass(frozen=True)
class Refusal:
    """A refused volume, and why."""

    volume_id: str
    sentence: str


@dataclass(frozen=True)
class Cohort:
    """Volumes by collection and split, the way from those listed to those answered, attributes of subjects;
    refused volumes by reason, and by name."""

    sentence: str
    by_split: Table
    flow: FlowView
    flow_table: Table
    refusal_reasons: Table
    refused: tuple[Refusal, ...]
    attributes: Table


def cohort_of(
    evaluation: Evaluation, cases: Sequence[Case], manifest: Sequence[ListedVolume]
) -> Cohort:
    """The chapter, from the volumes listed (`manifest`) and those evaluated."""
    flow = flow_view(manifest, sum(row.extents == "unsure" for row in evaluation.volumes))
    return Cohort(
        sentence=_sentence(manifest),
        by_split=_by_split(manifest),
        flow=flow,
        flow_table=flow_table(flow),
        refusal_reasons=refusal_reasons(manifest),
        refused=_refused(cases, manifest),
        attributes=people_table(manifest),
    )


def _sentence(manifest: Sequence[ListedVolume]) -> str:
    """Numbers of volumes and subjects, and how volumes are named."""
    if not manifest:
        return "This report has no list of prepared volumes."
    subjects = len({one.subject_id for one in manifest})
    hashed = (
        " Volumes are named by hashes; slices/manifest.tsv, which stays with the data, has the names "
        "(column shown_id)."
    )
    return (
        f"{several(len(manifest), 'volume')} of {several(subjects, 'subject')}. All volumes of one subject "
        f"are in the same split; this was checked.{hashed if any(one.hashed for one in manifest) else ''}"
    )


def _by_split(manifest: Sequence[ListedVolume]) -> Table:
    """One row per collection and split."""
    there = {one.split for one in manifest}
    splits = [split for split in SPLITS if split in there]
    splits += sorted(there - {*splits, ""})
    rows = []
    for collection in sorted({one.collection for one in manifest}):
        for split in (*splits, ""):
            here = [one for one in manifest if (one.collection, one.split) == (collection, split)]
            if here:
                rows.append((collection or "–", split or "for prediction only", *_counts(here)))
    header = ("collection", "split", "subjects", "volumes", "labelled", "slices", "refused")
    return Table(header, rows, name="inputs")


def _counts(volumes: Sequence[ListedVolume]) -> tuple[str, ...]:
    subjects = len({one.subject_id for one in volumes})
    labelled = sum(one.labelled for one in volumes)
    slices = sum(one.slices for one in volumes)
    refused = sum(one.status == "refused" for one in volumes)
    return tuple(f"{count:,}" for count in (subjects, len(volumes), labelled, slices, refused))


def refusal_reasons(manifest: Sequence[ListedVolume]) -> Table:
    """Numbers of refused volumes by code, most frequent first, each with one message as an example."""
    by_code: dict[str, list[str]] = defaultdict(list)
    for one in manifest:
        if one.status == "refused":
            by_code[one.code or "no code"].append(one.message)
    ordered = sorted(by_code.items(), key=lambda found: (-len(found[1]), found[0]))
    rows = [
        (code, f"{len(words):,}", words[0] or "no reason was recorded") for code, words in ordered
    ]
    return Table(("reason", "volumes", "for example"), rows, name="refused")


def _refused(cases: Sequence[Case], manifest: Sequence[ListedVolume]) -> tuple[Refusal, ...]:
    """Every refused volume once, with its message."""
    sentences = {one.volume_id: one.message for one in manifest if one.status == "refused"}
    sentences |= {case.volume_id: case.message for case in cases if case.status == "refused"}
    ordered = sorted(sentences.items())
    return tuple(Refusal(name, words or "no reason was recorded") for name, words in ordered)
