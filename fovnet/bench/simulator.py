"""What each feature of the simulator is worth: one small network trained without it, judged on simulated people and on real volumes.

All arms have the same people, network, budget and seeds; what an arm leaves out is the only difference, and how it changes what the first
arm got right is told with an interval of its own.  Each may be trained several times, on other people and from other weights: what one
training finds differs from the next by some points.  Volumes count alike: most slices are of the few that show half a body.  Everything
is kept in a scratch folder: a killed study goes on where it was, and a longer one begins with what is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import CollectionError, ConfigError
from fovnet.maths.allocation import keep_freed_memory
from fovnet.net.architecture import Architecture
from fovnet.phantom.collection import simulate_collection
from fovnet.phantom.features import left_out
from fovnet.records import checksum
from fovnet.regions import DEFAULT, Vocabulary
from fovnet.volume.pack import Pack, slice_collections
from fovnet.volume.slices import Slicing

ALL, WITHOUT, EVERYTHING = "all", "without ", "everything"
HELD_OUT = 2_000_003        # seed of the simulated people all arms are judged on; collections have small ones
SPACING_MM, BATCH, RATE, AVERAGING, COOLDOWN = 8.0, 32, 10**-1.5, 0.97, 0.5
RANGES = (15.0, 0.12, 0.06, 0.25, 0.06, 0.5, 0.2, 0.0, 0.08, 0.3, 0.8)     # of configs/shipped-first.yaml, but no crops; so are inputs
INPUTS = ("slice", "millimetres", "sections")
VOLUMES = 4                                 # of each subject
FRACTIONS = (0.75, 0.25, 0.0)               # of an arm's people that train and validate: others are judged on
COLUMNS = ("arm", "subjects", "repeats", "volumes", "train_slices", "epochs", "validation_loss",
           *(f"{on}_{what}" for on in ("simulated", "labelled") for what in
             ("accuracy", "low", "high", "spread", "change", "change_low", "change_high", "slices", "refused")))
"""What a row has; a spread is the standard deviation of the accuracy between repeats."""


class Accuracy(Protocol):
    """An accuracy with its interval."""

    @property
    def value(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def denominator(self) -> int: ...


class Score(Protocol):
    """The accuracy of probabilities (s, k) of slices, given what is true (s, k), whose they are and how much each counts (s,)."""

    def __call__(
        self, probabilities: NDArray[Any], truth: NDArray[np.bool_], subject_ids: Sequence[str], vocabulary: Vocabulary = DEFAULT,
        *, counts: NDArray[np.float64],
    ) -> Accuracy: ...


class Change(Protocol):
    """By how much an accuracy grew from the first probabilities to the second, and the two ends of its interval."""

    def __call__(
        self, before: NDArray[Any], after: NDArray[Any], truth: NDArray[np.bool_], subject_ids: Sequence[str],
        vocabulary: Vocabulary = DEFAULT, *, counts: NDArray[np.float64],
    ) -> tuple[float, float, float]: ...


@dataclass(frozen=True)
class Study:
    """What all arms share: where files are kept, people and budget of each training, seed, processes, device, trainings of each arm."""

    scratch: Path
    subjects: int
    epochs: int
    slices_per_epoch: int
    seed: int
    workers: int
    device: str
    repeats: int = 1


def arms_of(wanted: Sequence[str], known: Iterable[str]) -> dict[str, frozenset[str]]:
    """What each arm leaves out, by its name; without names all, each feature alone, and everything.

    "without A + B" leaves out two.  Raises ConfigError ("bench-arm", "phantom-feature") for what is no arm or no feature.
    """
    features = tuple(known)
    names = list(wanted) or [ALL, *(WITHOUT + name for name in features), WITHOUT + EVERYTHING]
    arms = {}
    for name in names:
        if name != ALL and not name.startswith(WITHOUT):
            raise ConfigError("bench-arm", f"--arms {name!r}: wanted is \"all\", \"without NAME\" or \"without everything\"")
        lacking = name.removeprefix(WITHOUT).split(" + ")
        arms[name] = frozenset() if name == ALL else frozenset(features) if lacking == [EVERYTHING] else left_out(lacking)
    return arms


def studied(
    study: Study, arms: Mapping[str, frozenset[str]], score: Score, change: Change, labelled: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[dict[str, Any]]:
    """A row of COLUMNS for each arm, in their order; changes are from the first.  `progress` is told (steps done, in all): two for each
    training and two to judge on."""
    keep_freed_memory()
    steps = _Steps(progress, 2 * len(arms) * study.repeats + 2)
    judged = {"simulated": _pack(study, "held-out", frozenset(), max(4, study.subjects // 3), HELD_OUT + study.seed)}
    steps.done()
    if labelled is not None:
        slicing = Slicing(target_spacing_mm=SPACING_MM)
        judged["labelled"] = slice_collections({"labelled": labelled}, study.scratch / "labelled", slicing=slicing, seed=study.seed,
                                               workers=study.workers)
    steps.done()
    first: dict[str, NDArray[Any]] = {}
    for name, lacking in arms.items():
        networks, losses, slices = [], [], 0
        for repeat in range(study.repeats):
            pack = _pack(study, _folder(name, repeat), lacking, study.subjects, study.seed + repeat)
            steps.done()
            loss, network = _trained(study, _folder(name, repeat), study.seed + repeat, pack)
            networks.append(network)
            losses.append(loss)
            slices += len(pack.rows("train"))
            steps.done()
        row: dict[str, Any] = {"arm": name, "subjects": study.subjects, "repeats": study.repeats, "epochs": study.epochs,
                               "volumes": study.subjects * VOLUMES * study.repeats, "train_slices": slices,
                               "validation_loss": float(np.mean(losses))}
        for on, known in judged.items():
            row |= _judged(study, networks, on, known, score, change, first)
        yield row


@dataclass
class _Steps:
    tell: Callable[[int, int], None] | None
    total: int
    so_far: int = 0

    def done(self) -> None:
        self.so_far += 1
        if self.tell:
            self.tell(self.so_far, self.total)


def _folder(name: str, repeat: int) -> str:
    return name.replace(" ", "-") + (f"-{repeat + 1}" if repeat else "")


def _pack(study: Study, name: str, lacking: frozenset[str], subjects: int, seed: int) -> Pack:
    """The slices of a simulated collection in the scratch folder."""
    folder, workers = study.scratch / name, study.workers
    simulate_collection(folder / "phantom", subjects=subjects, volumes_per_subject=VOLUMES, seed=seed, workers=workers, without=lacking)
    slicing = Slicing(target_spacing_mm=SPACING_MM)
    return slice_collections({"phantom": folder / "phantom"}, folder / "slices", slicing=slicing, seed=seed, workers=workers,
                             fractions=FRACTIONS)


def _trained(study: Study, name: str, seed: int, pack: Pack) -> tuple[float, Path]:
    """The lowest validation loss of the arm's network, and its file.  Raises CollectionError where it could not be trained."""
    import torch

    from fovnet.net.augment import Ranges
    from fovnet.net.training import Recipe, choose_device, place, train_network

    torch.set_num_threads(1)
    targets = pack.truth / pack.truth.sum(axis=1, keepdims=True).clip(1)
    device = choose_device(study.device)
    data = place(np.array(pack.pixels), targets, pack.rows("train"), pack.rows("validation"), device, pack.placing, INPUTS)
    net = Architecture(5, 1, 4, 3, False, len(pack.classes), "small", widen=2, inputs=INPUTS, stride=2, norm="pooled")
    recipe = Recipe(study.epochs, study.slices_per_epoch, Ranges(*RANGES), AVERAGING, cooldown=COOLDOWN, sampling="volumes")
    facts = {**pack.inputs, "arm": name, "source": checksum(pack.folder / "pixels.npy")}
    keep = study.scratch / name / "network.safetensors"
    ending = train_network(net, learning_rate=RATE, batch=BATCH, seed=seed, data=data, recipe=recipe, keep=keep, facts=facts)
    if not ending.validation_loss or not keep.exists():
        raise CollectionError("bench-untrained", f"{name}: the network was not trained ({ending.status}). {ending.message}".strip())
    return min(ending.validation_loss), keep


def _judged(
    study: Study, networks: Sequence[Path], on: str, pack: Pack, score: Score, change: Change, first: dict[str, NDArray[Any]]
) -> dict[str, Any]:
    """The columns of one judgement: balanced accuracy of the labelled slices over all networks and its change, with intervals, and how many
    volumes were refused.  `first` keeps what the first arm said of these slices."""
    from fovnet.net.inference import member_probabilities
    from fovnet.net.training import choose_device
    from fovnet.net.weights import load_network

    device = choose_device(study.device)
    members = [load_network(network, device)[0] for network in networks]
    known = np.array([record.labelled and record.status == "ok" for record in pack.records], dtype=bool)[pack.volume]
    if not known.any():
        raise CollectionError("bench-unlabelled", f"{pack.folder}: no labelled volume could be read. Give a collection with regions.tsv.")
    each = member_probabilities(members, np.array(pack.pixels), device, rows=np.flatnonzero(known), placing=pack.placing)
    truth, volume = pack.truth[known], pack.volume[known]
    owners, alike = [pack.records[row].subject for row in volume.tolist()], 1.0 / np.bincount(volume)[volume]
    alone = [score(said, truth, owners, counts=alike).value or 0.0 for said in each]
    together, truths, people = np.concatenate(each), np.tile(truth, (len(each), 1)), owners * len(each)
    counts = np.tile(alike, len(each))
    said = score(together, truths, people, counts=counts)
    row = {"accuracy": said.value, "low": said.low, "high": said.high, "slices": said.denominator // len(each),
           "spread": float(np.std(alone, ddof=1)) if len(each) > 1 else None,
           "refused": sum(record.status == "refused" for record in pack.records)}
    if on in first:
        row |= dict(zip(("change", "change_low", "change_high"), change(first[on], together, truths, people, counts=counts), strict=True))
    first.setdefault(on, together)
    return {f"{on}_{what}": value for what, value in row.items()}
