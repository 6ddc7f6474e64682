"""The model folder: what lies in it, each part read once.

    ensemble.json            facts: vocabulary, preparation of the slices, members
    member-<slot>.safetensors  the networks, one file each
    networks.onnx            their graph, which reads the weights from these files
    decision.json            the rule, with the members' weights, and how it was tuned
    novelty.npz              the novelty reference
    orientation.safetensors  the network for the body's orientation
    weighing.json            how the members' weights were found
    SHA256SUMS               of all these
    people.npz               what adapting needs of simulated people (`acts/people.py`), if it has
                             them; not listed in SHA256SUMS

Prediction needs nothing else, and the folder can be moved or sent.  Reading any part but the
networks does not import torch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from fovnet.decision import novelty, orientation
from fovnet.decision.judge import Judge
from fovnet.decision.member_weights import Weighing
from fovnet.decision.novelty import NoveltyReference
from fovnet.decision.orientation import Orientation
from fovnet.decision.parts import (
    COPY_AGAIN,
    GREATEST_NETWORK_BYTES,
    SUMS_FILE_NAME,
    checked_part_path,
    read_facts,
    write_sums,
)
from fovnet.decision.rule import Rule
from fovnet.errors import ModelError
from fovnet.net.family.facts import load_facts, refuse_other_inputs
from fovnet.records import checksum, why_no_folder, write_json
from fovnet.regions import Region, Vocabulary
from fovnet.volume.slices.stack import Slicing, describe_slice_format

FACTS_FILE_NAME = "ensemble.json"
RULE_FILE_NAME = "decision.json"
GRAPH_FILE_NAME = "networks.onnx"
WEIGHING_FILE_NAME = "weighing.json"
PEOPLE_FILE_NAME = "people.npz"
# all but the networks
PART_FILE_NAMES = (
    FACTS_FILE_NAME,
    GRAPH_FILE_NAME,
    RULE_FILE_NAME,
    WEIGHING_FILE_NAME,
    novelty.NOVELTY_FILE_NAME,
    orientation.ORIENTATION_FILE_NAME,
    SUMS_FILE_NAME,
)
GREATEST_SETTING = 1e4  # millimetres or degrees, of a setting of the slices


class NetworkFile(NamedTuple):
    """The name of a network's file in the folder, and its recorded SHA-256."""

    name: str
    sha256: str


@dataclass(frozen=True)
class ModelFolder:
    """A model folder; each part is read on first use, and kept.

    Every part raises ModelError as `checked_part_path`, and for a folder that is none
    "model-missing".
    """

    path: Path

    @cached_property
    def facts(self) -> dict[str, Any]:
        """The contents of `ensemble.json`.  Raises ModelError "model-missing" if there is none, and
        "model-damaged" if it cannot be read."""
        try:
            return read_facts(self.path, FACTS_FILE_NAME)
        except (OSError, ValueError) as fault:
            facts_path = self.path / FACTS_FILE_NAME
            if facts_path.is_file():
                raise ModelError(
                    "model-damaged", f"{facts_path}: cannot be read ({fault}); {COPY_AGAIN}"
                ) from fault
            reason = why_no_folder(self.path) or f"no {FACTS_FILE_NAME} in it"
            raise ModelError(
                "model-missing",
                f"{self.path}: {reason}; give the folder `ensemble` that a run of the workflow or "
                "`fovnet adapt` wrote, or none, for the networks that come with the package",
            ) from None

    def refuse_missing(self) -> None:
        """Raise ModelError "model-missing" for a folder that is no model's."""
        _ = self.facts

    @cached_property
    def network_vocabulary(self) -> Vocabulary:
        """The classes of its networks.  Raises ModelError "model-damaged"."""
        with self._refuse_malformed():
            return _vocabulary_in(self.facts)

    @property
    def vocabulary(self) -> Vocabulary:
        """The regions that it answers: each whole in the place of its parts.  Raises ModelError
        "model-damaged"."""
        return self.network_vocabulary.whole

    @cached_property
    def slicing(self) -> Slicing:
        """The settings that its slices are cut with.  Raises ModelError "model-damaged"."""
        with self._refuse_malformed():
            return _slicing_in(self.facts)

    @cached_property
    def networks(self) -> list[NetworkFile]:
        """Its networks, the best first; at least one.  Raises ModelError "model-damaged"."""
        with self._refuse_malformed():
            networks = [
                NetworkFile(member["weights"], member["sha256"]) for member in self.facts["members"]
            ]
        if not networks:
            raise ModelError(
                "model-damaged",
                f"{self.path / FACTS_FILE_NAME}: it names no networks; {COPY_AGAIN}",
            )
        return networks

    @cached_property
    def weight_files(self) -> list[Path]:
        """The files of its networks, in their order, each the recorded one, of the folder's classes
        and for slices of its format.

        Raises ModelError as `checked_part_path` and `refuse_other_inputs`, and "weights-damaged".
        """
        format_of_slices = describe_slice_format(self.slicing)
        weight_files = []
        for network in self.networks:
            path = checked_part_path(self.path, network.name, GREATEST_NETWORK_BYTES)
            if not path.exists() or checksum(path) != network.sha256:
                raise ModelError(
                    "weights-damaged",
                    f"{path}: missing, or not the file recorded in {FACTS_FILE_NAME}; {COPY_AGAIN}",
                )
            refuse_other_inputs(
                path, load_facts(path), self.network_vocabulary.classes, format_of_slices
            )
            weight_files.append(path)
        return weight_files

    @cached_property
    def tuning(self) -> dict[str, Any]:
        """The contents of `decision.json`: the rule, and how it was found.  Raises OSError, and
        ValueError for anything but an object of facts."""
        return read_facts(self.path, RULE_FILE_NAME)

    @cached_property
    def rule(self) -> Rule:
        """The rule in `decision.json`.  Raises ModelError ("rule-missing") if there is none that
        can be read."""
        try:
            return Rule.from_values(self.tuning["rule"])
        except (OSError, ValueError, KeyError, TypeError):
            raise self._rule_missing() from None

    @cached_property
    def part_rules(self) -> dict[str, Rule]:
        """The rules in `decision.json` for the parts of regions, by region; empty where nothing is said
        of parts.  Raises ModelError ("rule-missing") as `rule`, and "rule-invalid" for unsound ones."""
        parts_by_region = self.network_vocabulary.parts
        rules = {}
        try:
            values_by_region = self.tuning.get("part_rules", {})
            for region in parts_by_region.keys() & values_by_region.keys():
                rules[region] = Rule.from_values(values_by_region[region])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise self._rule_missing() from None
        for region, rule in rules.items():
            rule.refuse_unsound(
                self.path / RULE_FILE_NAME, len(self.networks), len(parts_by_region[region])
            )
        return {region: rules[region] for region in parts_by_region if region in rules}

    def _rule_missing(self) -> ModelError:
        return ModelError(
            "rule-missing",
            f"{self.path / RULE_FILE_NAME}: missing or unreadable; `fovnet tune` makes it",
        )

    @cached_property
    def novelty(self) -> NoveltyReference | None:
        """The novelty reference, None if it has none.  Raises ModelError "novelty-damaged"."""
        return novelty.load_novelty(self.path)

    @cached_property
    def orientation(self) -> Orientation | None:
        """The network for the body's orientation, None if it has none.  Raises ModelError
        "orientation-damaged"."""
        return orientation.load_orientation(self.path)

    def judge(self, rule: Rule | None = None, vocabulary: Vocabulary | None = None) -> Judge:
        """What makes answers of its networks' outputs, by its own rules and vocabulary or by another
        rule, which says nothing of parts, and another vocabulary."""
        return Judge(
            vocabulary or self.vocabulary,
            rule or self.rule,
            self.novelty,
            self.orientation,
            self.network_vocabulary,
            self.part_rules if rule is None else {},
        )

    @contextmanager
    def _refuse_malformed(self) -> Iterator[None]:
        """A context in which facts of another form than fovnet writes become ModelError
        "model-damaged"."""
        try:
            yield
        except (KeyError, TypeError, ValueError) as fault:
            raise ModelError(
                "model-damaged",
                f"{self.path / FACTS_FILE_NAME}: not as fovnet writes it ({fault!r}); {COPY_AGAIN}",
            ) from fault


def _vocabulary_in(facts: Mapping[str, Any]) -> Vocabulary:
    """Raises ValueError for a colour that is not # and six hexadecimal digits, and for other values
    of another type than a region's."""
    regions = [
        Region(**{**region, "synonyms": tuple(region["synonyms"])}) for region in facts["regions"]
    ]
    for region in regions:
        if not re.fullmatch("#[0-9a-fA-F]{6}", str(region.colour)):
            raise ValueError(
                f"the colour of {region.name!r} is {region.colour!r}; give # and six digits"
            )
        region_texts = (
            region.name,
            region.sct,
            region.body_part,
            region.level,
            region.meaning,
            *region.synonyms,
        )
        are_texts = all(isinstance(text, str) for text in region_texts)
        if not are_texts or not isinstance(region.rung, int | None):
            raise ValueError(f"{region} has values of another type")
    return Vocabulary(tuple(regions))


def _slicing_in(facts: Mapping[str, Any]) -> Slicing:
    """Raises TypeError or ValueError for an unknown or senseless setting."""
    slicing = Slicing(**facts["prepare"])
    for setting, default_value in asdict(Slicing()).items():
        value = getattr(slicing, setting)
        if (
            isinstance(value, bool) != isinstance(default_value, bool)
            or not 0 <= value <= GREATEST_SETTING
        ):
            raise ValueError(f"{setting} is {value!r}, not a value like {default_value!r}")
    return slicing


def save_weighing(folder: Path, weighing: Weighing, *, settings: Any, seed: int) -> Path:
    """`folder/weighing.json`: the members' slots and weights, and the losses of every way of
    weighing."""
    slots = [member["slot"] for member in ModelFolder(folder).facts["members"]]
    weighing_facts = {
        "slots": slots,
        "way": weighing.way_name,
        "weights": weighing.weights,
        "losses": weighing.loss_by_way,
        "left_out": weighing.held_out_loss_by_way,
    }
    return write_json(folder / WEIGHING_FILE_NAME, weighing_facts, settings=settings, seed=seed)


def save_rule(
    folder: Path, rule: Rule, facts: Mapping[str, Any], *, settings: Any, seed: int
) -> Path:
    """`folder/decision.json`: the rule, and how it was found.  A SHA256SUMS of the parts before is
    removed: see `seal`."""
    (folder / SUMS_FILE_NAME).unlink(missing_ok=True)
    return write_json(
        folder / RULE_FILE_NAME, {"rule": asdict(rule), **facts}, settings=settings, seed=seed
    )


def seal(folder: Path) -> Path:
    """`folder/SHA256SUMS` of the parts of a finished ensemble, by which `load_ensemble` knows them
    again."""
    members = [member["weights"] for member in ModelFolder(folder).facts["members"]]
    return write_sums(
        folder,
        [
            name
            for name in (*PART_FILE_NAMES, *members)
            if name != SUMS_FILE_NAME and (folder / name).exists()
        ],
    )
