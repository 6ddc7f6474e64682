"""The outputs of a new ensemble's members on the validation and test slices, and what is computed
with them: the novelty reference, the members' weights; and the network for the body's orientation.

The outputs take about 280 bytes per slice (`scored_slices`).  Tuning, deciding and evaluating read
them; the members are not run again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fovnet.decision import novelty, orientation
from fovnet.decision.confidence_bar import FALSE_ALARM_SHARE
from fovnet.decision.ensemble import Ensemble
from fovnet.decision.folder import save_weighing
from fovnet.decision.member_weights import Weighing, mean_by_weights, weigh_by_way
from fovnet.decision.rule import EVEN_PROBABILITY, Rule
from fovnet.decision.scored_slices import (
    SCORED_SPLITS,
    ScoredSlices,
    readable_volumes,
    true_labels_of_volume,
)
from fovnet.late import import_late
from fovnet.volume.collection.pack import Pack
from fovnet.volume.slices.planes import PICTURES_SHAPE, make_pictures, shows_stated_axes

if TYPE_CHECKING:
    from fovnet.net.family import weights
    from fovnet.net.training import orientation as orientation_training
else:  # torch
    weights = import_late("fovnet.net.family.weights")
    orientation_training = import_late("fovnet.net.training.orientation")

ProgressCallback = Callable[[int, int], Any]
# volumes to train the orientation network on
LEAST_TRAINING_VOLUMES = 50
GREATEST_TRAINING_VOLUMES = 4000
# fewest validation volumes that give a bar for FALSE_ALARM_SHARE: its rank is then 1
LEAST_JUDGE_VOLUMES = round(1 / FALSE_ALARM_SHARE) - 1


def score_slices(
    ensemble: Ensemble, pack: Pack, *, seed: int, progress: ProgressCallback | None = None
) -> tuple[Ensemble, ScoredSlices]:
    """The ensemble with a novelty reference from the training split, and its members' outputs on
    the slices of the splits in SCORED_SPLITS."""
    training_rows = pack.rows_in_split("train")
    scored_rows = np.sort(np.concatenate([pack.rows_in_split(split) for split in SCORED_SPLITS]))
    ensemble = ensemble.learn_novelty(
        pack.pixels, training_rows, pack.truth[training_rows], seed=seed, placing=pack.placing
    )
    return ensemble, ScoredSlices(
        scored_rows, ensemble.compute_outputs(pack.pixels, progress, scored_rows, pack.placing)
    )


def weigh_members(
    folder: Path,
    ensemble: Ensemble,
    scored: ScoredSlices,
    pack: Pack,
    way: str,
    *,
    settings: Any,
    seed: int,
) -> tuple[ScoredSlices, Weighing]:
    """`scored` with the members' weights by a way of WEIGHTS_BY_WAY on the validation split, and
    the weighing.

    Writes `weighing.json` to `folder`, and `novelty.npz` if the ensemble has a novelty reference.
    """
    outputs, truth, subjects = scored.outputs_of_split(pack, "validation")
    weighing = weigh_by_way(outputs.member_probabilities, truth, subjects, way)
    save_weighing(folder, weighing, settings=settings, seed=seed)
    if ensemble.novelty is not None and outputs.novelty_distances is not None:
        probabilities = mean_by_weights(outputs.member_probabilities, weighing.weights)
        reference = novelty.calibrate_reference(
            ensemble.novelty, outputs.novelty_distances, probabilities
        )
        novelty.save_novelty(folder, reference)
    return replace(scored, weights=tuple(weighing.weights.tolist())), weighing


def train_orientation(
    folder: Path, pack: Pack, *, seed: int, progress: ProgressCallback | None = None
) -> Path | None:
    """`folder/orientation.safetensors`, trained on at most GREATEST_TRAINING_VOLUMES volumes of the
    training split; None, and no file, if fewer than LEAST_TRAINING_VOLUMES are usable, or fewer
    than LEAST_JUDGE_VOLUMES of the validation split.

    Usable volumes show a region in more than half of their slices, are large enough to show their
    orientation, and have a header that states it.  In any collection a few headers are wrong.
    """
    (folder / orientation.ORIENTATION_FILE_NAME).unlink(missing_ok=True)
    training_indices = _volumes_with_known_axes(pack, "train", GREATEST_TRAINING_VOLUMES, seed)
    judge_indices = _volumes_with_known_axes(pack, "validation", LEAST_JUDGE_VOLUMES, seed)
    if len(training_indices) < LEAST_TRAINING_VOLUMES or len(judge_indices) < LEAST_JUDGE_VOLUMES:
        return None
    # 0.6 GB for 4,000 volumes
    pictures = np.empty((len(training_indices), *PICTURES_SHAPE), np.uint8)
    for position, volume_index in enumerate(training_indices):
        pictures[position] = make_pictures(pack.stack_of_volume(volume_index))
    tensors = orientation_training.learn_orientation(pictures, seed=seed, progress=progress)
    half_tensors = {name: tensor.half() for name, tensor in tensors.items()}
    return weights.save_tensors(
        folder / orientation.ORIENTATION_FILE_NAME,
        half_tensors,
        {"volumes": len(training_indices), "seed": seed},
    )


def _volumes_with_known_axes(pack: Pack, split: str, greatest_count: int, seed: int) -> list[int]:
    """Volumes of a split that show their orientation, and whose headers state it: at most
    `greatest_count`, drawn by the seed."""
    volume_indices: list[int] = []
    for volume_index in (
        np.random.default_rng(seed).permutation(readable_volumes(pack, split)).tolist()
    ):
        shows_nothing = true_labels_of_volume(pack, volume_index)[:, -1].mean() >= EVEN_PROBABILITY
        if not shows_nothing and shows_stated_axes(pack.stack_of_volume(volume_index)):
            volume_indices.append(volume_index)
        if len(volume_indices) == greatest_count:
            break
    return sorted(volume_indices)


def score_turned_and_brightened(
    ensemble: Ensemble, scored: ScoredSlices, pack: Pack, progress: ProgressCallback
) -> ScoredSlices:
    """`scored` with the members' outputs on the volumes turned over and on dark slices brightened,
    where needed."""
    return scored.with_turned_and_brightened(
        pack, replace(ensemble, rule=Rule(weights=scored.weights)), progress
    )
