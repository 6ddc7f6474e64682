"""One small network trained on simulated people, some features of the simulator left out, and its
probabilities of the judged slices.

All files are kept in the scratch folder of a study: a study that was killed continues from them,
and a longer one begins with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import CollectionError
from fovnet.machine.allocation import keep_freed_memory
from fovnet.net.device import choose_device
from fovnet.net.family.architecture import Architecture
from fovnet.net.family.weights import load_network
from fovnet.net.inference.member_outputs import compute_member_probabilities
from fovnet.net.recipe import Ranges, Recipe
from fovnet.net.training.train import place_on_device, train_network
from fovnet.phantom.collection import simulate_collection
from fovnet.records import checksum
from fovnet.volume.collection.pack import Pack, slice_collections
from fovnet.volume.slices.stack import Slicing

# seed of the simulated people all networks are judged on; collections have small ones
SEED_OF_JUDGED_PEOPLE = 2_000_003
SPACING_MM = 8.0
BATCH = 32
LEARNING_RATE = 10**-1.5
AVERAGING = 0.97
COOLDOWN = 0.5
# of configs/shipped/1.yaml, but no crops; so are inputs
RANGES = Ranges(15.0, 0.12, 0.06, 0.25, 0.06, 0.5, 0.2, 0.0, 0.08, 0.3, 0.8)
INPUTS = ("slice", "millimetres", "sections")
# of a network's people that train and validate; it is judged on others
FRACTIONS = (0.75, 0.25, 0.0)


@dataclass(frozen=True)
class Study:
    """The settings shared by all trainings: scratch folder, people and budget of each, seed,
    processes, device."""

    scratch: Path
    subjects: int
    epochs: int
    slices_per_epoch: int
    seed: int
    workers: int
    device: str
    volumes: int = 4  # of each person


@dataclass(frozen=True, eq=False)
class JudgedSlices:
    """Labelled slices that networks are judged on.

    pack      that holds them
    rows      (s,) their rows in it
    truth     (s, k) of each
    subjects  (s,) of each
    counts    (s,) weights: volumes count alike, as most slices are of the few that show half a body
    refused   volumes that could not be sliced
    """

    pack: Pack
    rows: NDArray[np.intp]
    truth: NDArray[np.bool_]
    subjects: list[str]
    counts: NDArray[np.float64]
    refused: int


def judged_sets(study: Study, labelled: Path | None) -> dict[str, JudgedSlices]:
    """The slices of simulated people who have everything ("simulated"), and those of a labelled
    collection ("labelled").

    Raises CollectionError ("bench-unlabelled") where no labelled volume of it could be read.
    """
    judged_seed = SEED_OF_JUDGED_PEOPLE + study.seed
    packs = {"simulated": simulated_slices(study, "held-out", frozenset(), judged_seed)}
    if labelled is not None:
        slicing = Slicing(target_spacing_mm=SPACING_MM)
        packs["labelled"] = slice_collections(
            {"labelled": labelled},
            study.scratch / "labelled",
            slicing=slicing,
            seed=study.seed,
            workers=study.workers,
        )
    return {name: labelled_slices(pack) for name, pack in packs.items()}


def labelled_slices(pack: Pack) -> JudgedSlices:
    """The labelled slices of a pack.  Raises CollectionError ("bench-unlabelled") where there are
    none."""
    has_labels = np.array(
        [record.is_labelled and record.status == "ok" for record in pack.records], dtype=bool
    )[pack.volume_of_slice]
    if not has_labels.any():
        raise CollectionError(
            "bench-unlabelled",
            f"{pack.folder}: no labelled volume could be read. Give a collection with regions.tsv.",
        )
    volume = pack.volume_of_slice[has_labels]
    subjects = [pack.records[row].subject for row in volume.tolist()]
    refused = sum(record.status == "refused" for record in pack.records)
    return JudgedSlices(
        pack,
        np.flatnonzero(has_labels),
        pack.truth[has_labels],
        subjects,
        1.0 / np.bincount(volume)[volume],
        refused,
    )


def simulated_slices(study: Study, name: str, left_out: frozenset[str], seed: int) -> Pack:
    """The slices of simulated people without some features, kept in the study's scratch folder by
    `name`."""
    folder = study.scratch / name
    simulate_collection(
        folder / "phantom",
        subjects=study.subjects,
        volumes_per_subject=study.volumes,
        seed=seed,
        workers=study.workers,
        without=left_out,
    )
    slicing = Slicing(target_spacing_mm=SPACING_MM)
    return slice_collections(
        {"phantom": folder / "phantom"},
        folder / "slices",
        slicing=slicing,
        seed=seed,
        workers=study.workers,
        fractions=FRACTIONS,
    )


def train_on(study: Study, name: str, seed: int, pack: Pack) -> Path:
    """The file of a network trained on a pack.

    Raises CollectionError ("bench-untrained") where it could not be trained.
    """
    import torch

    torch.set_num_threads(1)
    keep_freed_memory()
    targets = pack.truth / pack.truth.sum(axis=1, keepdims=True).clip(1)
    device = choose_device(study.device)
    data = place_on_device(
        np.array(pack.pixels),
        targets,
        pack.rows_in_split("train"),
        pack.rows_in_split("validation"),
        device,
        pack.placing,
        INPUTS,
    )
    recipe = Recipe(
        study.epochs,
        study.slices_per_epoch,
        RANGES,
        AVERAGING,
        cooldown=COOLDOWN,
        sampling="volumes",
    )
    facts = {**pack.network_inputs, "arm": name, "source": checksum(pack.folder / "pixels.npy")}
    network_file = study.scratch / name / "network.safetensors"
    training = train_network(
        _architecture(len(pack.classes)),
        learning_rate=LEARNING_RATE,
        batch_size=BATCH,
        seed=seed,
        data=data,
        recipe=recipe,
        weights_path=network_file,
        network_facts=facts,
    )
    if not training.validation_losses or not network_file.exists():
        raise CollectionError(
            "bench-untrained",
            f"{name}: the network was not trained ({training.status}). {training.message}".strip(),
        )
    return network_file


def _architecture(classes: int) -> Architecture:
    """The small network of every training."""
    return Architecture(
        blocks=5,
        convolutions=1,
        log2_filters=4,
        kernel=3,
        separable=False,
        classes=classes,
        head="small",
        widen=2,
        inputs=INPUTS,
        stride=2,
        norm="pooled",
    )


def probabilities_of(study: Study, network: Path, judged: JudgedSlices) -> NDArray[Any]:
    """Probabilities (s, k) that a network gives the slices it is judged on."""
    device = choose_device(study.device)
    member, _ = load_network(network, device)
    (probabilities,) = compute_member_probabilities(
        [member],
        np.array(judged.pack.pixels),
        device,
        rows=judged.rows,
        placing=judged.pack.placing,
    )
    return np.asarray(probabilities)
