"""What a report needs besides the evaluation: the records of the run, and the options for pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fovnet.search.explaining import Explanation


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """The records of preparation, search, ensemble and settings.  A missing key or an empty list gives a dash or a sentence in the report.

    manifest       rows of volume_id, subject_id, collection, split, labelled, status, slices, message, and `hashed` if the
                   volume_id is a hash and not a file name
    trials         slot, configuration, status, score, seconds, predicted_seconds, epochs, message, device, and `start` if the
                   configuration was set by hand (if none is marked, the lowest slot counts as the start)
    members        slot, score, configuration, `weights`, the file with the weights, and `mixing_weight`, its own in the mean
    decision       the rule's settings, as decision.json has them
    configuration  the complete settings;  seed  their seed;  versions  of the software, by name
    hashes         SHA-256 by the name of what was hashed;  labels  labelled slices of each class, by split
    explanation    of the search; its section is left out without one, and if networks were trained further instead
    abstention     how the threshold for answering was chosen, as in decision.json;  ablation  the facts of evaluation/ablation.json, if any
    """

    manifest: Sequence[Mapping[str, Any]]
    trials: Sequence[Mapping[str, Any]]
    members: Sequence[Mapping[str, Any]]
    decision: Mapping[str, Any]
    configuration: Mapping[str, Any]
    seed: int
    versions: Mapping[str, Any] = field(default_factory=dict)
    hashes: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    explanation: Explanation | None = None
    abstention: Mapping[str, Any] = field(default_factory=dict)
    ablation: Mapping[str, Any] = field(default_factory=dict)

    @property
    def begun_with(self) -> Any:
        """The ensemble whose networks were trained further; None where a search found them."""
        return self.configuration.get("training", {}).get("begin")

    @property
    def simulates(self) -> bool:
        """Whether the run simulates the subjects of its collection phantom."""
        return bool(self.configuration.get("phantom", {}).get("subjects"))


@dataclass(frozen=True)
class Pictured:
    """At most `failures` failures are pictured; without `gallery` no volume is, without `faces` slices that may show a face are covered."""

    failures: int = 9
    gallery: bool = True
    faces: bool = True
