"""Whether the answers of a service are still those that were accepted: shares among its newest series,
compared with the shares that a person froze."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from math import sqrt
from pathlib import Path

from fovnet.decision.checks import unlike_training
from fovnet.decision.statements import UNSURE, YES
from fovnet.errors import ConfigError
from fovnet.records import read_json, write_json
from fovnet.watch.tally import CountedAnswer
from fovnet.words import several

ACCEPTANCE_NAME = "acceptance.json"
LEAST_VOLUMES = 100
"""Fewer tell nothing: of 100, a share of 10 % is 4 to 16 % by chance."""
STANDARD_ERRORS = 4.0
"""A difference beyond so many is no chance, though series of one person are alike: of 500 and 500, 10 %
and 19 %."""
NOT_ACCEPTED = "nothing is accepted yet: fovnet node --accept freezes the shares of now"


@dataclass(frozen=True)
class Shares:
    """How many of so many volumes were answered in a certain way."""

    volume_count: int
    count_by_kind: Mapping[str, int]

    def share(self, kind: str) -> float:
        """The share of a kind, 0 for one that did not occur, or without volumes."""
        return self.count_by_kind.get(kind, 0) / max(self.volume_count, 1)


def count_kinds(answers: Iterable[CountedAnswer]) -> Shares:
    """The shares of these answers: by status, `shows REGION`, `unsure` of any or a part, and
    `unlike-training`, what looks like nothing that the networks know."""
    counts: Counter[str] = Counter()
    volume_count = 0
    for answer in answers:
        volume_count += 1
        counts[answer.status] += 1
        counts.update(
            f"shows {region}" for region, word in answer.answer_by_region.items() if word == YES
        )
        counts["unsure"] += UNSURE in answer.answer_by_region.values()
        counts[unlike_training.CHECK.code] += unlike_training.CHECK.code in answer.codes
    return Shares(volume_count, dict(sorted(counts.items())))


def find_drift(recent: Shares, accepted: Shares) -> list[str]:
    """The kinds whose share differs by more than chance (two proportions, pooled)."""
    kinds = dict.fromkeys([*accepted.count_by_kind, *recent.count_by_kind])
    drifted_kinds = []
    for kind in kinds:
        both_count = recent.count_by_kind.get(kind, 0) + accepted.count_by_kind.get(kind, 0)
        pooled_share = both_count / (recent.volume_count + accepted.volume_count)
        inverse_counts = 1 / recent.volume_count + 1 / accepted.volume_count
        standard_error = sqrt(pooled_share * (1 - pooled_share) * inverse_counts)
        difference = abs(recent.share(kind) - accepted.share(kind))
        if difference > STANDARD_ERRORS * standard_error:
            drifted_kinds.append(kind)
    return drifted_kinds


def describe_drift(recent: Shares, accepted: Shares | None) -> str:
    """A line: what differs from what was accepted."""
    if accepted is None:
        return NOT_ACCEPTED
    if recent.volume_count < LEAST_VOLUMES:
        return f"too few answers to compare, {recent.volume_count} of {LEAST_VOLUMES}"
    differences_in_words = ", ".join(
        f"{kind} {100 * recent.share(kind):.0f} % (accepted {100 * accepted.share(kind):.0f} %)"
        for kind in find_drift(recent, accepted)
    )
    return differences_in_words or "answers are as accepted"


def accept(folder: Path, answers: Iterable[CountedAnswer]) -> Shares:
    """Freezes the shares of these answers in a folder.  Raises ConfigError "node-accept" for too
    few."""
    shares = count_kinds(answers)
    if shares.volume_count < LEAST_VOLUMES:
        raise ConfigError(
            "node-accept",
            f"--accept: {folder} has {several(shares.volume_count, 'answer')}, and {LEAST_VOLUMES} are wanted; "
            "accept when more series were answered, and somebody has looked at them",
        )
    write_json(
        folder / ACCEPTANCE_NAME,
        {
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "volumes": shares.volume_count,
            "counts": shares.count_by_kind,
        },
    )
    return shares


def read_accepted(folder: Path) -> Shares | None:
    """The shares that were frozen in a folder; None where none were."""
    try:
        facts = read_json(folder / ACCEPTANCE_NAME)
        return Shares(int(facts["volumes"]), dict(facts["counts"]))
    except (FileNotFoundError, KeyError, ValueError):
        return None
