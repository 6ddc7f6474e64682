"""The ensemble: the networks of the best trials, how their input slices are prepared, and the rule
from their outputs to spans.  On disk it is a model folder (`folder.py`)."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.decision import dark_slices, novelty, orientation
from fovnet.decision.chain.margins import find_air
from fovnet.decision.folder import FACTS_FILE_NAME, RULE_FILE_NAME, ModelFolder
from fovnet.decision.judge import Judge, MemberOutputs
from fovnet.decision.networks import load_engine, settle_choice
from fovnet.decision.novelty import REFERENCE_SLICES, NoveltyReference, fit_reference
from fovnet.decision.orientation import Orientation
from fovnet.decision.parts import (
    COPY_AGAIN,
    checked_part_path,
    refuse_altered,
    refuse_damage,
    refuse_not_finite,
)
from fovnet.decision.rule import Rule
from fovnet.errors import ModelError
from fovnet.machine.threads import one_thread
from fovnet.net.family.architecture import INPUTS_OF_THE_VOLUME
from fovnet.net.inference.engines import TORCH, Engine
from fovnet.records import checksum
from fovnet.regions import Vocabulary
from fovnet.results import SHIPPED_NETWORKS
from fovnet.volume.slices.placing import Placing
from fovnet.volume.slices.resizing import SIDE_PIXELS
from fovnet.volume.slices.stack import SliceStack

LOGGER = logging.getLogger("fovnet")
# slices at a time: their features take 51 MB for ten members of five blocks of 256 filters
SLICES_PER_PIECE = 1024


@dataclass(frozen=True)
class Ensemble:
    """Networks and their judge.

    network_vocabulary  the classes of the networks
    slicing_settings  with which its slices are cut
    identity          changes when a file of it does
    engine            what computes the members' outputs, not part of the identity
    part_rules        by region, for its parts
    name              for people: of its run, or that it comes with the package, and which fovnet
                      made it
    """

    network_vocabulary: Vocabulary
    slicing_settings: Mapping[str, Any]
    rule: Rule
    engine: Engine
    identity: str
    novelty: NoveltyReference | None = None
    orientation: Orientation | None = None
    name: str = ""
    part_rules: Mapping[str, Rule] = field(default_factory=dict)

    @property
    def engine_facts(self) -> dict[str, str]:
        """Name and version of the engine."""
        return {"name": self.engine.name, "version": self.engine.version}

    @property
    def vocabulary(self) -> Vocabulary:
        """The regions that it answers: each whole in the place of its parts."""
        return self.network_vocabulary.whole

    @property
    def judge(self) -> Judge:
        """What turns the members' outputs into an answer."""
        return Judge(
            self.vocabulary,
            self.rule,
            self.novelty,
            self.orientation,
            self.network_vocabulary,
            self.part_rules,
        )

    @property
    def sees_the_volume(self) -> bool:
        """Whether the members' probabilities of a slice depend on the other slices of its
        volume."""
        return not set(INPUTS_OF_THE_VOLUME).isdisjoint(self.engine.input_kinds)

    @one_thread()
    def compute_outputs(
        self,
        pixels: NDArray[np.uint8],
        progress: Callable[[int, int], Any] | None = None,
        rows: NDArray[np.int64] | None = None,
        placing: Placing | None = None,
    ) -> MemberOutputs:
        """The members' outputs on slices (s, 128, 128), or on some `rows` of them,
        SLICES_PER_PIECE at a time: features of all would not fit.

        placing  of all the slices, if the members' inputs need it
        Raises ModelError "model-overflow" if they are not all finite numbers: finite weights may
        still be senseless.
        """
        rows = np.arange(len(pixels)) if rows is None else rows
        member_probabilities = []
        distance_pieces = []
        for piece_start in range(0, len(rows), SLICES_PER_PIECE):
            probabilities, features = self.engine.compute_outputs(
                pixels,
                rows[piece_start : piece_start + SLICES_PER_PIECE],
                placing,
                _progress_of_piece(progress, piece_start, len(rows)),
            )
            _refuse_overflow("probabilities", probabilities)
            member_probabilities.append(probabilities)
            if self.novelty is not None:
                distance_pieces.append(self.novelty.measure_distances(features))
                _refuse_overflow("distances from the training slices", distance_pieces[-1])
        return MemberOutputs.of_classes(
            np.concatenate(member_probabilities, axis=1),
            self.network_vocabulary,
            np.concatenate(distance_pieces) if distance_pieces else None,
        )

    def compute_volume_outputs(self, stack: SliceStack) -> MemberOutputs:
        """The members' outputs on a volume, on the volume turned over and on its dark slices
        brightened, where needed."""
        outputs = self.compute_outputs(stack.pixels, placing=stack.placing)
        outputs = self.add_turned_outputs(outputs, stack)
        return self.add_brightened_outputs(outputs, stack)

    def add_turned_outputs(self, outputs: MemberOutputs, stack: SliceStack) -> MemberOutputs:
        """The outputs on a volume, with those on the volume turned over added if they depend on its
        other slices and name several regions.

        Networks that see a slice's height in the volume rely on it, and label an upside-down body
        as if it were upright.
        """
        if not self.sees_the_volume or not self.judge.names_several_regions(outputs):
            return outputs
        turned_stack = replace(stack, pixels=stack.pixels[::-1], z_mm=-stack.z_mm[::-1])
        plain_ensemble = replace(self, novelty=None)
        turned_outputs = plain_ensemble.compute_outputs(
            turned_stack.pixels, placing=turned_stack.placing
        )
        return replace(outputs, turned_probabilities=turned_outputs.member_probabilities)

    def add_brightened_outputs(self, outputs: MemberOutputs, stack: SliceStack) -> MemberOutputs:
        """The outputs on a volume, with those on its dark slices brightened added if they seem to
        show nothing: see `dark_slices`."""
        shows_nothing = self.judge.seems_empty(outputs, find_air(stack.pixels))
        rows_in_question = dark_slices.find_dark_rows(stack.pixels, shows_nothing, stack.edges_mm)
        if not len(rows_in_question):
            return outputs
        brightened_members = np.full_like(outputs.member_probabilities, np.nan)
        brightened_pixels = dark_slices.brighten(stack.pixels)
        plain_ensemble = replace(self, novelty=None)
        brightened_members[:, rows_in_question] = plain_ensemble.compute_outputs(
            brightened_pixels, None, rows_in_question, stack.placing
        ).member_probabilities
        return replace(outputs, brightened_probabilities=brightened_members)

    def refuse_unfit(self) -> None:
        """Raises ModelError, or any exception, unless all parts work together: tried on a slice of
        noise."""
        noise_slice = (
            np.random.default_rng(0)
            .integers(0, 256, (1, SIDE_PIXELS, SIDE_PIXELS))
            .astype(np.uint8)
        )
        placing = Placing(np.full(1, 400.0), np.zeros(1, dtype=np.int64), np.zeros(1))
        output_shape = self.compute_outputs(noise_slice, placing=placing).member_probabilities.shape
        expected_shape = (self.engine.member_count, 1, len(self.vocabulary.classes))
        if output_shape != expected_shape:
            raise ModelError(
                "weights-misfit",
                f"the networks' outputs have the shape {output_shape}, not {expected_shape}; "
                f"{COPY_AGAIN}",
            )
        if self.orientation is not None:
            self.orientation.judge_turns(
                np.broadcast_to(noise_slice, (1, 3, 3, SIDE_PIXELS, SIDE_PIXELS))
            )

    def learn_novelty(
        self,
        pixels: NDArray[np.uint8],
        rows: NDArray[np.int64],
        truth: NDArray[np.bool_],
        *,
        seed: int,
        placing: Placing | None = None,
    ) -> Ensemble:
        """The ensemble with a novelty reference, from at most REFERENCE_SLICES of the training
        slices `rows` (n,), drawn by the seed; their labels are `truth` (n, k)."""
        reference_positions = np.sort(
            np.random.default_rng(seed).permutation(len(rows))[:REFERENCE_SLICES]
        )
        _, features = self.engine.compute_outputs(pixels, rows[reference_positions], placing)
        return replace(self, novelty=fit_reference(features, truth[reference_positions]))


def _refuse_overflow(quantity: str, values: NDArray[np.floating]) -> None:
    """Raises ModelError "model-overflow" for numbers that are not all finite."""
    if not np.isfinite(values).all():
        raise ModelError(
            "model-overflow",
            f"the networks' {quantity} are not finite here: the weights are damaged, or the "
            f"training diverged; {COPY_AGAIN}, or use another model",
        )


def _progress_of_piece(
    progress: Callable[[int, int], Any] | None, start: int, total: int
) -> Callable[[int, int], Any] | None:
    """The callback for a piece that begins at `start`, reporting progress of the whole."""
    return progress and (lambda done, _: progress(start + done, total))


def load_ensemble(
    folder: Path, device: str = "auto", *, rule: Rule | None = None, engine: str = TORCH
) -> Ensemble:
    """The ensemble in a folder, its networks ready on a device.

    rule    used instead of decision.json, which does not exist before tuning
    engine  what computes the outputs, a name of `fovnet.net.inference.engines`; training and tuning
            always use torch
    A warning says why torch computes where "auto" would have taken the graph.
    Raises ModelError if a part is missing, damaged or senseless, leads out of the folder, or is not
    the recorded one; if a network was trained for other classes, on slices of another format than
    those that will be cut for it, or with other inputs than the other members; and if the parts do
    not work together on a slice of noise; and as `settle_choice` and `load_engine`.
    """
    model_folder = ModelFolder(folder)
    model_folder.refuse_missing()  # a folder that is none is refused before a device is asked for
    device_name = settle_choice(engine, device)
    with refuse_damage(folder), np.errstate(over="ignore", invalid="ignore"):
        chosen_engine = load_engine(model_folder, device_name, engine)
        ensemble = _load_parts(model_folder, chosen_engine.engine, rule)
        _refuse_unfit(folder, ensemble)
    if chosen_engine.why_not_graph:
        LOGGER.warning(
            "torch computes, which takes longer to start: %s", chosen_engine.why_not_graph
        )
    return ensemble


def _name_of(folder: Path, facts: Mapping[str, Any]) -> str:
    """ "the networks that come with fovnet, made by fovnet 0.1.0": whose networks they are, and the
    version that made them where the facts tell it; a run's `ensemble` has the name of the run's
    folder."""
    folder = folder.resolve()
    name = folder.parent.name if folder.name == "ensemble" else folder.name
    if folder == SHIPPED_NETWORKS.resolve():
        name = "the networks that come with fovnet"
    version_stamp = facts.get("fovnet")
    version = version_stamp.get("version") if isinstance(version_stamp, Mapping) else None
    return f"{name}, made by fovnet {version}" if version else name


def _load_parts(model_folder: ModelFolder, engine: Engine, rule: Rule | None) -> Ensemble:
    """The ensemble of the parts of a folder, each checked by itself.  A `rule` is used in place of
    the folder's."""
    has_tuning = rule is None and (model_folder.path / RULE_FILE_NAME).exists()
    tuning = model_folder.tuning if has_tuning else {}
    rule = rule or model_folder.rule
    rule.refuse_unsound(
        model_folder.path / RULE_FILE_NAME, engine.member_count, len(model_folder.vocabulary.chain)
    )
    refuse_not_finite(model_folder.path / FACTS_FILE_NAME, model_folder.facts)
    refuse_not_finite(model_folder.path / RULE_FILE_NAME, tuning)
    _refuse_missing_parts(model_folder, rule)
    # read first: a damaged one is refused as such, not as altered
    orientation_network = model_folder.orientation
    checksum_by_part = _checksums_of_parts(
        model_folder,
        FACTS_FILE_NAME,
        RULE_FILE_NAME,
        novelty.NOVELTY_FILE_NAME,
        orientation.ORIENTATION_FILE_NAME,
    )
    refuse_altered(model_folder.path, checksum_by_part | dict(model_folder.networks))
    return Ensemble(
        network_vocabulary=model_folder.network_vocabulary,
        slicing_settings=model_folder.facts["prepare"],
        rule=rule,
        engine=engine,
        identity="".join(sha256[:16] for sha256 in checksum_by_part.values()),
        novelty=model_folder.novelty,
        orientation=orientation_network,
        name=_name_of(model_folder.path, model_folder.facts),
        part_rules=model_folder.part_rules if has_tuning else {},
    )


def _checksums_of_parts(model_folder: ModelFolder, *part_names: str) -> dict[str, str]:
    """{name: SHA-256} of these parts of a folder, without those that it does not have."""
    return {
        part_name: checksum(path)
        for part_name in part_names
        if (path := checked_part_path(model_folder.path, part_name)).exists()
    }


def _refuse_missing_parts(model_folder: ModelFolder, rule: Rule) -> None:
    """Raise ModelError "model-part-missing" where the rule judges by a part that the folder lacks,
    and "novelty-damaged" by a reference without validation slices."""
    for part_name, least_value in (
        (novelty.NOVELTY_FILE_NAME, rule.least_novelty),
        (orientation.ORIENTATION_FILE_NAME, rule.least_upright),
    ):
        if least_value and not os.path.lexists(model_folder.path / part_name):
            raise ModelError(
                "model-part-missing",
                f"{model_folder.path / part_name}: missing, but needed by {RULE_FILE_NAME}; "
                f"{COPY_AGAIN}",
            )
    reference = model_folder.novelty
    if rule.least_novelty and reference and not len(reference.validation_distances):
        raise ModelError(
            "novelty-damaged",
            f"{model_folder.path / novelty.NOVELTY_FILE_NAME}: without validation slices, but "
            f"{RULE_FILE_NAME} needs them; {COPY_AGAIN}",
        )


def _refuse_unfit(folder: Path, ensemble: Ensemble) -> None:
    """As `Ensemble.refuse_unfit`, with the folder named."""
    try:
        ensemble.refuse_unfit()
    except ModelError as fault:
        raise ModelError(fault.code, f"{folder}: {fault.sentence}") from fault
