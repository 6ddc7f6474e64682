"""The flow of volumes from those listed to those answered: exclusions at each step, with their
reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from fovnet.evaluate.cases import ListedVolume
from fovnet.records import json_key
from fovnet.report.content.cells import ReportTable
from fovnet.report.content.wording import whole_number_text

TITLE_BY_SPLIT = {"train": "training", "validation": "validation", "test": "test"}
"""Splits as stored, and their names in the report."""


@dataclass(frozen=True)
class Exclusion:
    """A number of volumes excluded at a step, and why."""

    reason: str = field(metadata=json_key("why"))
    volume_count: int = field(metadata=json_key("volumes"))


@dataclass(frozen=True)
class FlowStep:
    """Numbers of volumes, subjects and slices that remain at this step, None where not counted.

    exclusions  those before it
    """

    name: str
    volume_count: int = field(metadata=json_key("volumes"))
    subject_count: int | None = field(metadata=json_key("subjects"))
    slice_count: int | None = field(metadata=json_key("slices"))
    exclusions: tuple[Exclusion, ...] = field(metadata=json_key("left_out"))


@dataclass(frozen=True)
class FlowView:
    """The steps of the data, in order."""

    steps: tuple[FlowStep, ...]


def flow_view(manifest: Sequence[ListedVolume], doubted_count: int) -> FlowView:
    """The flow of the volumes in a manifest; `doubted_count` of the test volumes are doubted as a
    whole.

    A volume without labels is for prediction only, and is in no split.
    """
    if not manifest:
        return FlowView(())
    readable_volumes = [volume for volume in manifest if volume.status != "refused"]
    labelled_volumes = [volume for volume in readable_volumes if volume.split]
    test_volumes = [volume for volume in labelled_volumes if volume.split == "test"]
    return FlowView(
        (
            _flow_step("listed in the collections", manifest, ()),
            _flow_step("read and cut into slices", readable_volumes, _refusals_by_code(manifest)),
            _flow_step(
                "labelled",
                labelled_volumes,
                _exclusions_of_count(
                    "without labels: for prediction only",
                    len(readable_volumes) - len(labelled_volumes),
                ),
            ),
            _flow_step(
                "held back for testing", test_volumes, _exclusions_by_split(labelled_volumes)
            ),
            FlowStep(
                "answered without a doubt",
                volume_count=len(test_volumes) - doubted_count,
                subject_count=None,
                slice_count=None,
                exclusions=_exclusions_of_count("with a doubt", doubted_count),
            ),
        )
    )


def flow_table(flow: FlowView) -> ReportTable:
    """The flow as a table, for readers who cannot see the figure."""
    rows = []
    for step in flow.steps:
        exclusion_phrases = [
            f"{exclusion.volume_count:,} {exclusion.reason}" for exclusion in step.exclusions
        ]
        rows.append(
            (
                step.name,
                whole_number_text(step.volume_count),
                whole_number_text(step.subject_count),
                whole_number_text(step.slice_count),
                "; ".join(exclusion_phrases) or "none",
            )
        )
    return ReportTable(
        ("step", "volumes", "subjects", "slices", "left out before"), rows, name="flow"
    )


def _flow_step(
    name: str, volumes: Sequence[ListedVolume], exclusions: tuple[Exclusion, ...]
) -> FlowStep:
    """A step with the numbers of these volumes, their subjects and their slices."""
    return FlowStep(
        name,
        volume_count=len(volumes),
        subject_count=len({volume.subject_id for volume in volumes}),
        slice_count=sum(volume.slices for volume in volumes),
        exclusions=exclusions,
    )


def _refusals_by_code(manifest: Sequence[ListedVolume]) -> tuple[Exclusion, ...]:
    """The refused volumes of a manifest, the most frequent code first."""
    count_by_code = Counter(
        volume.code or "no code" for volume in manifest if volume.status == "refused"
    )
    return tuple(
        Exclusion(f"refused: {code}", count) for code, count in count_by_code.most_common()
    )


def _exclusions_of_count(reason: str, count: int) -> tuple[Exclusion, ...]:
    """So many volumes for one reason; empty if there are none."""
    if not count:
        return ()
    return (Exclusion(reason, count),)


def _exclusions_by_split(volumes: Sequence[ListedVolume]) -> tuple[Exclusion, ...]:
    """The volumes that are not in the test split."""
    count_by_split = Counter(volume.split for volume in volumes if volume.split != "test")
    return tuple(
        Exclusion(f"used for {TITLE_BY_SPLIT.get(split, split)}", count_by_split[split])
        for split in sorted(count_by_split)
    )
