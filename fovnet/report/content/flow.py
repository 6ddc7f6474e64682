"""The flow of volumes from those listed to those answered: exclusions at each step, with their
reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from fovnet.evaluate.cases import ListedVolume
from fovnet.report.content.cells import ReportTable

SPLITS = {"train": "training", "validation": "validation", "test": "test"}
"""Splits as stored, and their names in the report."""


@dataclass(frozen=True)
class LeftOut:
    """A number of volumes excluded at a step, and why."""

    why: str
    volumes: int


@dataclass(frozen=True)
class FlowStep:
    """Volumes, subjects and slices that remain at this step, None where not counted.

    left_out  the exclusions before it
    """

    name: str
    volumes: int
    subjects: int | None
    slices: int | None
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True)
class FlowView:
    """The steps of the data, in order."""

    steps: tuple[FlowStep, ...]


def flow_view(manifest: Sequence[ListedVolume], doubt_count: int) -> FlowView:
    """The flow of the volumes in a manifest; `doubt_count` of the test volumes are doubted as a
    whole.

    A volume without labels is for prediction only, and is in no split.
    """
    readable_volumes = [volume for volume in manifest if volume.status != "refused"]
    labelled_volumes = [volume for volume in readable_volumes if volume.split]
    test_volumes = [volume for volume in labelled_volumes if volume.split == "test"]
    flow_steps = (
        _counted_step("listed in the collections", manifest, ()),
        _counted_step("read and cut into slices", readable_volumes, _left_out_as_refused(manifest)),
        _counted_step("labelled", labelled_volumes, _left_out_without_labels(readable_volumes)),
        _counted_step(
            "held back for testing", test_volumes, _exclusions_by_split(labelled_volumes)
        ),
        FlowStep(
            "answered without a doubt",
            len(test_volumes) - doubt_count,
            None,
            None,
            _left_out_with_doubt(doubt_count),
        ),
    )
    return FlowView(flow_steps if manifest else ())


def flow_table(flow: FlowView) -> ReportTable:
    """The flow as a table, for readers who cannot see the figure."""
    rows = []
    for step in flow.steps:
        exclusions = (
            "; ".join(f"{exclusion.volumes:,} {exclusion.why}" for exclusion in step.left_out)
            or "none"
        )
        rows.append(
            (
                step.name,
                *(
                    _count_text(count_or_none)
                    for count_or_none in (step.volumes, step.subjects, step.slices)
                ),
                exclusions,
            )
        )
    return ReportTable(
        ("step", "volumes", "subjects", "slices", "left out before"), rows, name="flow"
    )


def _counted_step(
    name: str, volumes: Sequence[ListedVolume], left_out: tuple[LeftOut, ...]
) -> FlowStep:
    subject_count = len({volume.subject_id for volume in volumes})
    return FlowStep(
        name, len(volumes), subject_count, sum(volume.slices for volume in volumes), left_out
    )


def _left_out_as_refused(manifest: Sequence[ListedVolume]) -> tuple[LeftOut, ...]:
    count_by_code = Counter(
        volume.code or "no code" for volume in manifest if volume.status == "refused"
    )
    return tuple(LeftOut(f"refused: {code}", count) for code, count in count_by_code.most_common())


def _left_out_without_labels(volumes: Sequence[ListedVolume]) -> tuple[LeftOut, ...]:
    count = sum(not volume.split for volume in volumes)
    return (LeftOut("without labels: for prediction only", count),) if count else ()


def _exclusions_by_split(volumes: Sequence[ListedVolume]) -> tuple[LeftOut, ...]:
    count_by_split = Counter(volume.split for volume in volumes if volume.split != "test")
    return tuple(
        LeftOut(f"used for {SPLITS.get(split, split)}", count_by_split[split])
        for split in sorted(count_by_split)
    )


def _left_out_with_doubt(count: int) -> tuple[LeftOut, ...]:
    return (LeftOut("with a doubt", count),) if count else ()


def _count_text(count: int | None) -> str:
    return "–" if count is None else f"{count:,}"
