"""The search that a configuration describes, over the slices of a pack: its space, its prices, its
trainings and its journal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fovnet.acts.pricing import configured_speed, costs_of_layers, price_space
from fovnet.acts.search_prior import prior_path, read_search_prior
from fovnet.acts.search_space import (
    polling_of,
    search_space,
    search_tree,
    start_configuration,
)
from fovnet.acts.warm_start import warm_start_networks
from fovnet.config.models import Settings
from fovnet.errors import SearchError
from fovnet.net.cost.prices import Prices
from fovnet.net.jobs.single_training import SingleTraining
from fovnet.net.jobs.training_data import (
    ROWS_FILE,
    LabelledSlices,
    frequencies_of_training_rows,
    labelled_slices_of,
    training_fingerprint,
)
from fovnet.net.jobs.workers import TrainingJob, file_stamp
from fovnet.net.recipe import Ranges, Recipe
from fovnet.net.stopping import Ends, Plateau
from fovnet.net.training.warm_start import Beginning
from fovnet.records import digest
from fovnet.search.jobs.steps import source_of
from fovnet.search.look.view import RANKING, Modelling, Ranking
from fovnet.search.prior import Prior
from fovnet.search.search import AnySearch, Search
from fovnet.search.space import Space
from fovnet.search.spend.envelope import Envelope
from fovnet.search.spend.schedule import FULL, Schedule
from fovnet.search.tree_search import TreeSearch
from fovnet.volume.collection.pack import Pack

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, eq=False)
class SearchPlan:
    """The search of the settings over the slices of a pack, and what its acts share, worked out
    once, when it is first asked for."""

    settings: Settings
    pack: Pack

    @cached_property
    def warm_start(self) -> tuple[Beginning, ...]:
        """The networks that trainings begin with.  Raises as `warm_start_networks`."""
        return warm_start_networks(self.settings)

    @cached_property
    def space(self) -> Space:
        """The search space.  Raises as `search_space`."""
        return search_space(self.settings, self.warm_start)

    @cached_property
    def prior(self) -> Prior | None:
        """What earlier searches taught, if it is to be used.  Raises as `read_search_prior`."""
        if prior_path(self.settings) is None:
            return None
        return read_search_prior(self.settings, self.space)

    @cached_property
    def labelled_slices(self) -> LabelledSlices:
        """The slices that networks learn from and are scored on.  Raises as `labelled_slices_of`."""
        validation_slices = self.settings.training.validation_slices
        return labelled_slices_of(self.pack).with_validation_rows(
            validation_slices, self.settings.seed
        )

    @cached_property
    def fingerprint(self) -> str:
        """A hash of what a journal depends on: settings of search and training except the number of
        trials, labelled slices, warm-start networks, what earlier searches taught."""
        further_checksums: list[Any] = []
        if self.warm_start:
            further_checksums.append([network.sha256 for network in self.warm_start])
        if self.prior:
            further_checksums.append(self.prior.sha256)
        if self.settings.search.has_tree:
            # the order of its variables, which the digest of a mapping lacks
            further_checksums.append(search_tree(self.settings).facts["starts"])
        return digest(
            [
                *self.settings.settings_of_trials,
                *training_fingerprint(self.pack),
                *further_checksums,
            ]
        )

    def price_space(self, side: int = 128) -> Prices:
        """Every configuration priced, for slices of this side.  Raises as `labelled_slices_of`,
        `configured_speed` and `Prices.refuse_where_nothing_fits`."""
        validation_slices = len(self.labelled_slices.validation_rows)
        device = configured_speed(self.settings)
        space_prices = price_space(
            self.settings,
            self.space,
            classes=len(self.pack.classes),
            validation_slices=validation_slices,
            device=device,
            side=side,
        )
        space_prices.refuse_where_nothing_fits()
        return space_prices

    def make_search(self) -> AnySearch:
        """The search; a configuration predicted to exceed a limit is never proposed.

        Raises SearchError if a split has no slices ("search-no-slices") or nothing fits
        ("no-feasible-row").
        """
        settings = self.settings
        if settings.search.has_tree:
            return self._make_tree_search()
        search_settings = settings.search
        space_prices = self.price_space()
        first_configuration = start_configuration(settings, self.warm_start)
        return Search(
            space=self.space,
            method=search_settings.method,
            seed=settings.seed,
            workers=search_settings.workers,
            start=self.space.row_of(first_configuration),
            initial=search_settings.initial,
            predicted_seconds=space_prices.trial_seconds,
            feasible=space_prices.fits_limits,
            modelling=_modelling_of(settings),
            memory=space_prices.memory_bytes,
            lead=search_settings.lead,
            candidates=search_settings.candidates,
            schedule=_schedule_of(settings),
            polling=polling_of(settings),
            ranking=_ranking_of(settings),
            prior=self.prior,
        )

    def _make_tree_search(self) -> TreeSearch:
        """The search over a tree.  Raises SearchError as `search_tree` and `TreeSearch`."""
        settings = self.settings
        search_settings = settings.search
        return TreeSearch(
            tree=search_tree(settings),
            method=search_settings.method,
            seed=settings.seed,
            workers=search_settings.workers,
            initial=search_settings.initial,
            costs=costs_of_layers(
                settings,
                classes=len(self.pack.classes),
                validation_slices=len(self.labelled_slices.validation_rows),
                device=configured_speed(settings),
            ),
            modelling=_modelling_of(settings),
            lead=search_settings.lead,
            schedule=_schedule_of(settings),
            polling=polling_of(settings),
        )

    def training_job(self, journal: Path) -> TrainingJob:
        """The job that the trainings of this search share, in its journal."""
        training_settings = self.settings.training
        envelope_settings = training_settings.early_stopping.envelope
        envelope = None
        if envelope_settings:
            envelope = Envelope(tuple(envelope_settings.milestones), envelope_settings.margin)
        pixels_file = self.pack.folder / "pixels.npy"
        return TrainingJob(
            pixels_file,
            rows_path=journal / ROWS_FILE,
            networks_folder=journal / "networks",
            head=training_settings.head,
            device=training_settings.device,
            recipe=self._recipe,
            envelope=envelope,
            network_facts=self.pack.network_inputs,
            input_kinds=tuple(training_settings.inputs),
            beginnings=self.warm_start,
            rate_factor=training_settings.rate_factor,
            pixels_stamp=file_stamp(pixels_file),
        )

    @property
    def _recipe(self) -> Recipe:
        """The numbers of every training, with the rules that end one before its last epoch."""
        training_settings = self.settings.training
        plateau_settings = training_settings.early_stopping.plateau
        plateau = None
        if plateau_settings:
            plateau = Plateau(**plateau_settings.model_dump())
        timeout_seconds = None
        if training_settings.timeout_minutes:
            timeout_seconds = 60.0 * training_settings.timeout_minutes
        ending_rules = Ends(
            guessing_epochs=training_settings.guessing_epochs,
            timeout_seconds=timeout_seconds,
            plateau=plateau,
        )
        return Recipe(
            epochs=training_settings.epochs,
            slices_per_epoch=training_settings.slices_per_epoch,
            ranges=Ranges(**training_settings.augmentation.model_dump()),
            averaging=training_settings.averaging,
            ends=ending_rules,
            precision=training_settings.precision,
            cooldown=training_settings.cooldown,
            sampling=training_settings.sampling,
        )

    @property
    def row_frequencies(self) -> Tensor | None:
        """(n,) frequency with which a training draws each of its rows; None if uniform."""
        return frequencies_of_training_rows(self.pack, self.settings.training.sampling)

    def single_training(
        self,
        configuration: dict[str, Any],
        folder: Path,
        epochs: int | None,
        training_seed: int | None,
    ) -> SingleTraining:
        """The training of one configuration on these slices; it is not started.

        epochs, training_seed  those of the settings if None
        Raises as `labelled_slices_of` and `warm_start_networks`.
        """
        seed = self.settings.seed
        job = self.training_job(folder)
        recipe = replace(job.recipe, epochs=epochs or job.recipe.epochs)
        return SingleTraining(
            configuration=configuration,
            data=labelled_slices_of(self.pack),
            data_hash=digest(training_fingerprint(self.pack)),
            folder=folder,
            job=replace(job, recipe=recipe, pixels_stamp=None),
            seed=seed,
            training_seed=seed if training_seed is None else training_seed,
            validation_slices=self.settings.training.validation_slices,
            row_frequencies=self.row_frequencies,
        )

    def refuse_other_slices(self, journal: Path) -> None:
        """Raise SearchError ("journal-of-other-slices") unless the journal was begun for these
        slices."""
        if source_of(journal) != self.fingerprint:
            raise SearchError(
                "journal-of-other-slices",
                f"{journal}: begun for slices other than those in {self.pack.folder}; `fovnet "
                "slot begin` starts it again",
            )


def _modelling_of(settings: Settings) -> Modelling:
    """How the search models what it has seen."""
    search_settings = settings.search
    return Modelling(
        targets=search_settings.targets,
        kernel=search_settings.kernel,
        hyperparameters=search_settings.hyperparameters,
        per_second=search_settings.per_second,
        choose=search_settings.choose,
        fidelity=search_settings.fidelity,
        target=search_settings.target,
        width=search_settings.width,
        models=search_settings.models,
    )


def _ranking_of(settings: Settings) -> Ranking:
    """How the search learns the order of the scores, if it does."""
    if settings.search.ranking is None:
        return RANKING
    return Ranking.from_facts(settings.search.ranking.model_dump())


def _schedule_of(settings: Settings) -> Schedule:
    """How the search spends epochs; each rung is a training of its own where a cooldown makes its
    rates depend on its length."""
    search_settings = settings.search
    training_settings = settings.training
    if search_settings.way_to_spend == "full":
        return FULL
    return Schedule(
        kind=search_settings.way_to_spend,
        epochs=training_settings.epochs,
        eta=search_settings.eta,
        least=search_settings.least_epochs,
        reuse=search_settings.reuse,
        restarts=training_settings.cooldown > 0,
        minutes=search_settings.rung_minutes,
    )
