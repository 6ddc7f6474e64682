"""The search in the report: configurations tried, their scores, what failed and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from fovnet.report.content.page import CurvePoint, SearchView, Table
from fovnet.report.content.wording import duration, score, setting, settings
from fovnet.words import several

SHORT_LIST = 10
"""Trials in the short list, shown first."""

FURTHER = " Each went on from a network of another ensemble, with that one's configuration: nothing was searched for."

HEADER = ("trial", "status", "configuration", "score", "epochs", "time", "predicted", "device", "message")
BRIEF = 7
"""Columns of the short list, up to the predicted time."""


def search_view(trials: Sequence[Mapping[str, Any]], begun_with: str | None = None) -> SearchView:
    """Every trial as a point and as a row, a short list with the best first, and the numbers of trials by status.

    begun_with  the ensemble whose networks were trained further, if there was no search
    """
    ordered = sorted(trials, key=lambda trial: int(trial.get("slot", 0)))
    start = _starts(ordered)
    points = tuple(CurvePoint(int(trial.get("slot", 0)), _score(trial), bool(start[at])) for at, trial in enumerate(ordered))
    ranked = sorted((trial for trial in ordered if _score(trial) is not None), key=lambda trial: float(trial["score"]))
    return SearchView(
        further=begun_with is not None,
        origin="found by a search" if begun_with is None else f"trained further from those of another ensemble ({begun_with})",
        sentence=_sentence(ordered, ranked, [False] * len(start) if begun_with else start) + (FURTHER if begun_with else ""),
        points=points,
        best=Table(HEADER[:BRIEF], tuple(_cells(trial)[:BRIEF] for trial in ranked[:SHORT_LIST]), name="best-trials"),
        every=Table(HEADER, tuple(_cells(trial) for trial in ordered), name="trials"),
        endings=_endings(ordered),
    )


def members_table(members: Sequence[Mapping[str, Any]]) -> Table:
    """One row per member of the ensemble, lowest score first."""
    ordered = sorted(members, key=lambda member: (member.get("score") is None, member.get("score") or 0.0))
    rows = tuple(
        (str(member.get("slot", "–")), _shown(member), score(member.get("score")), _mixing_weight(member), setting(member.get("weights")),
         setting(member.get("seed")), str(member.get("sha256") or "–")[:16])
        for member in ordered
    )
    return Table(("trial", "configuration", "score", "weight", "file", "seed", "SHA-256 of the weights"), rows, name="members")


def _mixing_weight(member: Mapping[str, Any]) -> str:
    """The member's weight in the mean of the ensemble."""
    return "–" if member.get("mixing_weight") is None else f"{member['mixing_weight']:.2f}"


def _shown(member: Mapping[str, Any]) -> str:
    """A member's configuration, and a note if it is given slices alone."""
    return settings(member.get("configuration") or {}) + (" · sees slices alone" if member.get("alone") else "")


def _starts(ordered: Sequence[Mapping[str, Any]]) -> list[bool]:
    """Whether each trial's configuration was set by hand; if none is marked, the first trial's."""
    marked = [bool(trial.get("start")) for trial in ordered]
    return marked if any(marked) or not marked else [True, *marked[1:]]


def _score(trial: Mapping[str, Any]) -> float | None:
    return None if trial.get("score") is None else float(trial["score"])


def _sentence(ordered: Sequence[Mapping[str, Any]], ranked: Sequence[Mapping[str, Any]], start: Sequence[bool]) -> str:
    if not ordered:
        return "No search belongs to this report."
    failed = len(ordered) - len(ranked)
    words = f"{several(len(ordered), 'trial')}, {several(failed, 'of them failed', 'of them failed') if failed else 'none failed'}."
    if ranked:
        words += f" The best score is {score(ranked[0]['score'])}, of trial {ranked[0].get('slot', '–')}"
        first = next((trial for trial, is_start in zip(ordered, start, strict=True) if is_start), None)
        known = first is not None and _score(first) is not None
        words += f"; the start configuration reached {score(first['score'])}." if known and first is not None else "."
    spent = sum(float(trial.get("seconds") or 0) for trial in ordered)
    return f"{words} Training took {duration(spent)} in all."


def _cells(trial: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        setting(trial.get("slot")),
        str(trial.get("status") or "–").replace("_", " "),
        settings(trial.get("configuration") or {}),
        score(trial.get("score")),
        setting(trial.get("epochs")),
        duration(trial.get("seconds")),
        duration(trial.get("predicted_seconds")),
        setting(trial.get("device")),
        str(trial.get("message") or ""),
    )


def _endings(ordered: Sequence[Mapping[str, Any]]) -> Table:
    counts = Counter(str(trial.get("status") or "unknown") for trial in ordered)
    rows = []
    for status, count in counts.most_common():
        example = next((str(t["message"]) for t in ordered if t.get("status") == status and t.get("message")), "")
        rows.append((status.replace("_", " "), f"{count}/{len(ordered)}", example))
    return Table(("ended as", "trials", "for example"), tuple(rows), name="endings")
