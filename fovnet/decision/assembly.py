"""Assembling an ensemble: the members are chosen among a search's trials and copied, with their
facts, into a new folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.calibrations import label_shares
from fovnet.decision.folder import FACTS_FILE_NAME, PART_FILE_NAMES
from fovnet.decision.networks import write_graph_part
from fovnet.errors import ModelError
from fovnet.late import import_late
from fovnet.net.family.facts import load_facts, refuse_other_inputs
from fovnet.net.training.class_weights import guessing_loss as guessing_loss_of_targets
from fovnet.net.training.class_weights import inverse_class_weights
from fovnet.records import checksum, write_json
from fovnet.regions import Vocabulary
from fovnet.search.slot_files import repeat_instruction
from fovnet.search.trial import Trial, best_trials

# torch takes 1.2 s to import
if TYPE_CHECKING:
    import torch

    from fovnet.net.training import precision as weight_precision
else:  # torch
    weight_precision = import_late("fovnet.net.training.precision")

DRAFT_PREFIX = ".members-"  # begins the name of the folder in which members are written

Blend = tuple[float, Mapping[int, Path]]
"""The share of the trained weights in the members, and by slot the file of the network that each
was trained from, which has the rest."""


def write_ensemble(
    folder: Path,
    members: Sequence[Mapping[str, Any]],
    vocabulary: Vocabulary,
    prepare: Mapping[str, Any],
    *,
    settings: Any,
    seed: int,
    subjects: Mapping[str, Sequence[str]] | None = None,
    precision: str = "float32",
    origin: Mapping[str, Any] | None = None,
    blend: Blend | None = None,
    inputs: Mapping[str, Any] | None = None,
    journal: str = "",
) -> Path:
    """`folder/ensemble.json`, with each member's weights copied beside it, and their graph.

    members    facts of each (slot, score, configuration, ...), and under "weights" the file written
               by its training
    subjects   marks of the subjects they were trained on, by split: an evaluation can check that
               none of them is in the test split
    precision  float32, or float16 for half the size: all later steps use the rounded networks
    origin     facts of the ensemble that the trainings started from, if any: its networks'
               checksums are recorded
    blend      None: no blending
    inputs     classes and format of the slices to be scored, as a pack has them; None: they are not
               compared
    journal    the name of the journal of the members' search
    An existing ensemble is kept until all members of the new one are written.  Raises ModelError if
    there is no member, or the weights of one are missing, damaged, of other slices or too large for
    the precision.
    """
    if not members:
        raise ModelError(
            "ensemble-empty",
            "no trial completed, so there are no members; trials.tsv in the search's folder says "
            "why each failed: allow more memory, more time or more trials",
        )
    _refuse_unusable_networks([Path(member["weights"]) for member in members], inputs)
    facts_of_members = _replace_networks(folder, members, precision, blend)
    region_facts = [asdict(region) for region in vocabulary.regions]
    ensemble_facts: dict[str, Any] = {
        "classes": vocabulary.classes,
        "regions": region_facts,
        "prepare": dict(prepare),
        "members": facts_of_members,
        "precision": precision,
    }
    if journal:
        ensemble_facts["journal"] = journal
    if origin is not None:
        ensemble_facts["begun_with"] = {
            "networks": [member["sha256"] for member in origin["members"]],
            "people": _subject_counts(origin),
        }
    if subjects is not None:
        ensemble_facts["subjects"] = {split: list(marks) for split, marks in subjects.items()}
    facts_path = write_json(folder / FACTS_FILE_NAME, ensemble_facts, settings=settings, seed=seed)
    with suppress(ModelError):  # networks without a graph are computed by torch
        write_graph_part(folder)
    return facts_path


def _replace_networks(
    folder: Path,
    members: Sequence[Mapping[str, Any]],
    precision: str,
    blend: Blend | None,
) -> list[dict[str, Any]]:
    """Writes the weights of the members into `folder`, in place of those and of the rule that lie
    there; the facts of each, with its file's name under "weights" and its checksum."""
    folder.mkdir(parents=True, exist_ok=True)
    for leftover_folder in folder.glob(f"{DRAFT_PREFIX}*"):  # of a run that was killed
        rmtree(leftover_folder)
    facts_of_members = []
    with TemporaryDirectory(prefix=DRAFT_PREFIX, dir=folder) as draft_folder:
        for member in members:
            file_name = f"member-{member['slot']:04d}.safetensors"
            network_blend = None
            if blend is not None:
                share, network_by_slot = blend
                network_blend = (share, network_by_slot[member["slot"]])
            network_path = weight_precision.write_weights(
                Path(member["weights"]),
                Path(draft_folder) / file_name,
                precision,
                alone=member.get("alone", False),
                blend=network_blend,
            )
            facts_of_members.append(
                {**member, "weights": file_name, "sha256": checksum(network_path)}
            )
        for stale_path in (
            *folder.glob("member-*.safetensors"),
            *(folder / file_name for file_name in PART_FILE_NAMES),
        ):
            # a rule tuned for other members must not survive them
            stale_path.unlink(missing_ok=True)
        for member in facts_of_members:
            (Path(draft_folder) / member["weights"]).replace(folder / member["weights"])
    return facts_of_members


def _refuse_unusable_networks(networks: Sequence[Path], inputs: Mapping[str, Any] | None) -> None:
    """Raises ModelError for the first of a journal's networks that is missing or damaged, with the
    slot to repeat, or has other inputs."""
    for path in networks:
        try:
            network_facts = load_facts(path)
        except ModelError as fault:
            raise ModelError(
                fault.code,
                f"{path}: missing or damaged; "
                f"{repeat_instruction(path.parent.parent / f'{path.stem}.json')}",
            ) from fault
        if inputs is not None:
            refuse_other_inputs(path, network_facts, inputs["classes"], inputs["slices"])


def _subject_counts(facts: Mapping[str, Any]) -> dict[str, int]:
    """The number of subjects an ensemble was trained on, by split, whether it holds their marks or
    their number."""
    return facts.get("people") or {
        split: len(marks) for split, marks in (facts.get("subjects") or {}).items()
    }


def choose_members(
    trials: Sequence[Trial],
    count: int,
    loss_of_guessing: float,
    networks_folder: Path,
    alone: int = 0,
) -> list[dict[str, Any]]:
    """Facts of the `count` best completed trials that are better than guessing; if none is, of the
    best trial alone.

    loss_of_guessing  on the validation split, as `guessing_loss` gives it
    alone             number of members, the last, that see the slice alone; the best member always
                      sees all its inputs
    """
    members_by_score = best_trials(trials, count)
    members = [
        trial
        for trial in members_by_score
        if trial.score is not None and trial.score < loss_of_guessing
    ]
    members = members or members_by_score[:1]
    members_with_all_inputs = max(1, len(members) - alone)
    return [
        {
            "slot": trial.proposal.slot,
            "score": trial.score,
            "configuration": dict(trial.proposal.configuration),
            "seed": trial.proposal.seed,
            "weights": str(networks_folder / f"slot-{trial.proposal.slot:04d}.safetensors"),
            **({"alone": True} if rank >= members_with_all_inputs else {}),
        }
        for rank, trial in enumerate(members)
    ]


def guessing_loss(
    train: NDArray[np.bool_], validation: NDArray[np.bool_], frequency: torch.Tensor | None = None
) -> float:
    """The validation loss of predicting the uniform distribution over the classes of the training
    split (s, k) for every slice.

    Mean of Σ_c w_c t_c · log k_seen under the balanced weights w of the training split; log k_seen
    where the splits' shares agree.
    frequency  (s,) frequency with which training draws each slice (`sampling: volumes` is not
               uniform): class weights are computed with it
    """
    import torch

    train_targets = torch.from_numpy(label_shares(train))
    validation_targets = torch.from_numpy(label_shares(validation))
    if frequency is not None:
        frequency = frequency.to(train_targets.dtype)
    return guessing_loss_of_targets(
        validation_targets, inverse_class_weights(train_targets, frequency)
    )
