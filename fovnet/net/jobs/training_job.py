"""The data, the stopping rules and the shared settings of the trainings of a run: those of a search, and a
single one.

Heavy packages are imported only when needed.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fovnet.net.recipe import Ranges, Recipe
from fovnet.records import digest

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

    from fovnet.config.models import Settings
    from fovnet.net.jobs.single_training import SingleTraining
    from fovnet.net.jobs.trials import Labelled
    from fovnet.net.jobs.workers import Job
    from fovnet.net.stopping import Ends
    from fovnet.search.spend.envelope import Envelope
    from fovnet.volume.collection.pack import Pack

AT_ONCE = 4096          # slices, 67 MB


def training_fingerprint(pack: Pack) -> list[Any]:
    """The training and validation data, to be hashed: pixels, labels, sizes, heights and volumes of the
    slices of the train and validation splits, in their order, the names of the classes, and the slice format,
    which is also stored with networks.

    It does not depend on their place in the pack, nor on other slices: correcting a label of a test volume
    repeats no training.
    """
    return [
        *(_content(pack, pack.rows(split)) for split in ("train", "validation")), list(pack.classes),
        dict(pack.slice_format),
    ]


def _content(pack: Pack, rows: NDArray[np.int64]) -> str:
    """SHA-256 hex of the labels, placing and pixels of some slices; volumes are renumbered from 0."""
    placing = pack.placing
    volume = np.unique(placing.volume[rows], return_inverse=True)[1].astype(np.int64)
    hashed = hashlib.sha256(str(len(rows)).encode())
    for array in (pack.truth[rows], placing.sides_mm[rows], placing.z_mm[rows], volume):
        hashed.update(np.ascontiguousarray(array).tobytes())
    for first in range(0, len(rows), AT_ONCE):
        hashed.update(pack.pixels[rows[first : first + AT_ONCE]].tobytes())
    return hashed.hexdigest()


def labelled_rows(pack: Pack) -> Labelled:
    """The training data of a pack: the target of a slice of two regions is half of each."""
    from fovnet.net.jobs.trials import Labelled

    targets = pack.truth / pack.truth.sum(axis=1, keepdims=True).clip(1)
    return Labelled(targets.astype("float32"), pack.rows("train"), pack.rows("validation"), pack.placing)


def training_rows(settings: Settings, pack: Pack) -> Labelled:
    """The training data of a search: that of the pack, with the validation rows on which all its trials are
    scored."""
    from fovnet.net.jobs.trials import drawn

    data = labelled_rows(pack)
    return replace(
        data, validation=drawn(data.validation, settings.training.validation_slices, settings.seed)
    )


def row_frequencies(settings: Settings, pack: Pack) -> Tensor | None:
    """(n,) frequency with which a training draws each of its rows, also used for its class weights; None if
    uniform."""
    import torch

    from fovnet.net.training.train import each_volume_alike

    return (
        None
        if settings.training.sampling == "slices"
        else each_volume_alike(torch.from_numpy(pack.volume[pack.rows("train")]))
    )


def stopping_rules(settings: Settings) -> tuple[Ends, Envelope | None]:
    """The rules that end a training before its last epoch, and the envelope by which a search also prunes."""
    from fovnet.net.stopping import Ends, Plateau
    from fovnet.search.spend.envelope import Envelope

    training, early = settings.training, settings.training.early_stopping
    plateau = Plateau(**early.plateau.model_dump()) if early.plateau else None
    envelope = Envelope(tuple(early.envelope.milestones), early.envelope.margin) if early.envelope else None
    seconds = 60.0 * training.timeout_minutes if training.timeout_minutes else None
    return Ends(training.guessing_epochs, seconds, plateau), envelope


def training_job(settings: Settings, pack: Pack, journal: Path) -> Job:
    """The job that the trainings of the search in a journal share.  Raises ModelError as
    `warm_start_networks`."""
    from fovnet.net.jobs.trials import job_in
    from fovnet.net.training.warm_start import warm_start_networks

    training, (ends, envelope) = settings.training, stopping_rules(settings)
    return job_in(
        journal, pack.folder / "pixels.npy", head=training.head, device=training.device,
        recipe=recipe_of(settings, ends), envelope=envelope, inputs=pack.inputs, kinds=tuple(training.inputs),
        begin=warm_start_networks(settings), rate_factor=training.rate_factor,
    )


def recipe_of(settings: Settings, ends: Ends) -> Recipe:
    """The numbers of every training of a run."""
    training = settings.training
    return Recipe(
        training.epochs, training.slices_per_epoch, Ranges(**training.augmentation.model_dump()),
        training.averaging, ends, training.precision, training.cooldown, training.sampling,
    )


def plan_single_training(
    settings: Settings, pack: Pack, configuration: dict[str, Any], folder: Path, epochs: int | None,
    training_seed: int | None,
) -> SingleTraining:
    """The training of one configuration on the pack's slices; it is not started.

    epochs, training_seed  those of the settings if None
    Raises SearchError "search-no-slices", and ModelError as `warm_start_networks`.
    """
    from fovnet.net.jobs.single_training import SingleTraining
    from fovnet.net.jobs.trials import refuse_without_slices

    refuse_without_slices(labelled_rows(pack))
    job = training_job(settings, pack, folder)
    job = replace(job, recipe=replace(job.recipe, epochs=epochs or job.recipe.epochs), stamp=None)
    return SingleTraining(
        configuration, labelled_rows(pack), digest(training_fingerprint(pack)), folder, job, settings.seed,
        settings.seed if training_seed is None else training_seed, settings.training.validation_slices,
        row_frequencies(settings, pack),
    )
