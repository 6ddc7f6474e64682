"""The stopping rules and the shared settings of the trainings of a run: those of a search, and a single one.

Heavy packages are imported only when needed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fovnet.net.jobs.training_data import ROWS, labelled_rows, row_frequencies, training_fingerprint
from fovnet.net.recipe import Ranges, Recipe
from fovnet.records import digest

if TYPE_CHECKING:
    from pathlib import Path

    from fovnet.config.models import Settings
    from fovnet.net.jobs.single_training import SingleTraining
    from fovnet.net.jobs.workers import Job
    from fovnet.net.stopping import Ends
    from fovnet.net.training.warm_start import Beginning
    from fovnet.search.spend.envelope import Envelope
    from fovnet.volume.collection.pack import Pack

def stopping_rules(settings: Settings) -> tuple[Ends, Envelope | None]:
    """The rules that end a training before its last epoch, and the envelope by which a search also prunes."""
    from fovnet.net.stopping import Ends, Plateau
    from fovnet.search.spend.envelope import Envelope

    training, early = settings.training, settings.training.early_stopping
    plateau = Plateau(**early.plateau.model_dump()) if early.plateau else None
    envelope = Envelope(tuple(early.envelope.milestones), early.envelope.margin) if early.envelope else None
    seconds = 60.0 * training.timeout_minutes if training.timeout_minutes else None
    return Ends(training.guessing_epochs, seconds, plateau), envelope


def training_job(settings: Settings, pack: Pack, journal: Path, begun: tuple[Beginning, ...]) -> Job:
    """The job that the trainings of the search in a journal share.

    begun  the networks they begin with, as by `warm_start_networks`
    """
    from fovnet.net.jobs.workers import Job, stamp_of

    training, (ends, envelope) = settings.training, stopping_rules(settings)
    pixels = pack.folder / "pixels.npy"
    return Job(
        pixels, rows=journal / ROWS, weights=journal / "networks", head=training.head, device=training.device,
        recipe=recipe_of(settings, ends), envelope=envelope, inputs=pack.inputs, kinds=tuple(training.inputs),
        begin=begun, rate_factor=training.rate_factor, stamp=stamp_of(pixels),
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
    from fovnet.net.training.warm_start import warm_start_networks

    data = labelled_rows(pack)
    job = training_job(settings, pack, folder, warm_start_networks(settings))
    job = replace(job, recipe=replace(job.recipe, epochs=epochs or job.recipe.epochs), stamp=None)
    return SingleTraining(
        configuration, data, digest(training_fingerprint(pack)), folder, job, settings.seed,
        settings.seed if training_seed is None else training_seed, settings.training.validation_slices,
        row_frequencies(settings, pack),
    )
