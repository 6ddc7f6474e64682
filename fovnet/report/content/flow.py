"""The flow of volumes from those listed to those answered: exclusions at each step, with their reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from fovnet.evaluate.cases import ListedVolume
from fovnet.report.content.cells import Table

SPLITS = {"train": "training", "validation": "validation", "test": "test"}
"""Splits as stored, and their names in the report."""


@dataclass(frozen=True)
class LeftOut:
    """A number of volumes excluded at a step, and why."""

    why: str
    volumes: int


@dataclass(frozen=True)
class FlowStep:
    """Volumes, subjects and slices that remain at this step, None where not counted; `left_out` are the
    exclusions before it."""

    name: str
    volumes: int
    subjects: int | None
    slices: int | None
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True)
class FlowView:
    """The steps of the data, in order."""

    steps: tuple[FlowStep, ...]


def flow_view(manifest: Sequence[ListedVolume], doubted: int) -> FlowView:
    """The flow of the volumes in a manifest; `doubted` is the number of test volumes doubted as a whole.

    A volume without labels is for prediction only, and is in no split.
    """
    read = [one for one in manifest if one.status != "refused"]
    labelled = [one for one in read if one.split]
    tested = [one for one in labelled if one.split == "test"]
    steps = (
        _step("listed in the collections", manifest, ()),
        _step("read and cut into slices", read, _refusals(manifest)),
        _step("labelled", labelled, _unlabelled(read)),
        _step("held back for testing", tested, _others(labelled)),
        FlowStep("answered without a doubt", len(tested) - doubted, None, None, _doubted(doubted)),
    )
    return FlowView(steps if manifest else ())


def flow_table(view: FlowView) -> Table:
    """The flow as a table, for readers who cannot see the figure."""
    rows = []
    for step in view.steps:
        left = "; ".join(f"{one.volumes:,} {one.why}" for one in step.left_out) or "none"
        rows.append(
            (
                step.name,
                *(_count(value) for value in (step.volumes, step.subjects, step.slices)),
                left,
            )
        )
    return Table(("step", "volumes", "subjects", "slices", "left out before"), rows, name="flow")


def _step(name: str, volumes: Sequence[ListedVolume], left_out: tuple[LeftOut, ...]) -> FlowStep:
    subjects = len({one.subject_id for one in volumes})
    return FlowStep(name, len(volumes), subjects, sum(one.slices for one in volumes), left_out)


def _refusals(manifest: Sequence[ListedVolume]) -> tuple[LeftOut, ...]:
    codes = Counter(one.code or "no code" for one in manifest if one.status == "refused")
    return tuple(LeftOut(f"refused: {code}", count) for code, count in codes.most_common())


def _unlabelled(read: Sequence[ListedVolume]) -> tuple[LeftOut, ...]:
    count = sum(not one.split for one in read)
    return (LeftOut("without labels: for prediction only", count),) if count else ()


def _others(labelled: Sequence[ListedVolume]) -> tuple[LeftOut, ...]:
    counts = Counter(one.split for one in labelled if one.split != "test")
    return tuple(
        LeftOut(f"used for {SPLITS.get(split, split)}", counts[split]) for split in sorted(counts)
    )


def _doubted(doubted: int) -> tuple[LeftOut, ...]:
    return (LeftOut("with a doubt", doubted),) if doubted else ()


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"
