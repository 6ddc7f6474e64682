"""What a report needs besides the evaluation: the records of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from fovnet.config.models import Settings
from fovnet.decision.rule import Rule
from fovnet.evaluate.ablation import Ablation
from fovnet.evaluate.cases import ListedVolume
from fovnet.evaluate.readers import Agreements
from fovnet.search.explain.explanation import Explanation
from fovnet.search.space import Level
from fovnet.search.trial import Trial


@dataclass(frozen=True)
class Member:
    """A network of the ensemble, as ensemble.json records it.

    slot               of its trial
    weights            file of its weights
    mixing_weight      its own weight in the mean
    seed               None where the ensemble's file lacks it
    sha256             "" where the ensemble's file lacks it
    sees_slices_alone  whether it is shown slices alone, without their neighbours
    """

    slot: int
    score: float | None
    configuration: Mapping[str, Level]
    weights: str
    mixing_weight: float
    seed: int | None = None
    sha256: str = ""
    sees_slices_alone: Annotated[bool, Field(validation_alias="alone")] = False


@dataclass(frozen=True)
class Abstention:
    """How the confidence was chosen at which answers begin, on the `subjects` of the validation
    split.

    stated_error  the largest slice error of what is answered that it was chosen for
    promised      whether a test over subjects shows that this holds for new ones
    """

    stated_error: float
    min_confidence: float
    subjects: int
    promised: bool


@dataclass(frozen=True)
class RegionBar:
    """How the probability was chosen from which on one kind of statement is given, the yes or the
    no, on the `subjects` and `statements` of the validation split.

    promised  whether a test over subjects shows that the stated error holds for new ones
    """

    min_confidence: float
    promised: bool
    subjects: int
    statements: int


@dataclass(frozen=True)
class ByRegion:
    """The largest share of wrong statements that the bars of yes and of no were chosen for, and the
    bars."""

    stated_error: float
    yes: RegionBar
    no: RegionBar


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """The records of preparation, search, ensemble and settings.

    manifest     every volume of the collections
    trials       of the search, every slot
    members      of the ensemble
    rule         of its decision
    part_rules   by region, of that on its parts
    versions     of the software, by name
    hashes       SHA-256 by the name of what was hashed
    labels       labelled slices of each class, by split
    explanation  of the search; left out without one, and if networks were trained further instead
    abstention   how the threshold for answering was chosen
    by_region    how the thresholds of statements on regions were chosen
    by_part      how those on their parts were
    ablation     what each step is worth
    readers      how far readers agree, by collection that was read twice
    """

    settings: Settings
    manifest: Sequence[ListedVolume]
    trials: Sequence[Trial]
    members: Sequence[Member]
    rule: Rule
    part_rules: Mapping[str, Rule] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    hashes: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    explanation: Explanation | None = None
    abstention: Abstention | None = None
    by_region: ByRegion | None = None
    by_part: ByRegion | None = None
    ablation: Ablation | None = None
    readers: Mapping[str, Agreements] = field(default_factory=dict)


def members_in(ensemble_json: Mapping[str, Any], mixing_weights: Sequence[float]) -> list[Member]:
    """The members that ensemble.json names, with their weights in the mean."""
    members_with_weights = zip(ensemble_json["members"], mixing_weights, strict=True)
    return TypeAdapter(list[Member]).validate_python(
        [{**member, "mixing_weight": weight} for member, weight in members_with_weights]
    )


def abstention_in(decision_json: Mapping[str, Any]) -> Abstention | None:
    """How the threshold of the confidence was chosen, by decision.json; None where it says
    nothing."""
    abstention = decision_json.get("abstention")
    if not abstention:
        return None
    return TypeAdapter(Abstention).validate_python(abstention)


def by_region_in(decision_json: Mapping[str, Any], key: str = "statements") -> ByRegion | None:
    """How the bars of statements on regions were chosen, by decision.json, or with the key "parts" on
    their parts; None in one that has none."""
    bars = decision_json.get(key)
    if not bars or "yes" not in bars:
        return None
    return TypeAdapter(ByRegion).validate_python(bars)
