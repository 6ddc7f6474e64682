"""The search that a configuration describes: its space and first trial, the costs of its networks on its
device, and its journal.

Heavy packages are imported only when needed: pricing a space does not need torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from fovnet.errors import ConfigError, SearchError
from fovnet.net.jobs.run import journal_of_same_training, slices_of
from fovnet.net.jobs.training_data import (
    ROWS,
    Labelled,
    labelled_rows,
    row_frequencies,
    training_fingerprint,
)
from fovnet.net.recipe import Ranges, Recipe
from fovnet.net.stopping import Ends, Plateau
from fovnet.records import digest
from fovnet.results import Results
from fovnet.search.spend.envelope import Envelope

if TYPE_CHECKING:
    from fovnet.config.models import Settings
    from fovnet.net.cost.predicted import Device
    from fovnet.net.cost.prices import Prices
    from fovnet.net.cost.probes import Bench
    from fovnet.net.cost.speed import Timings
    from fovnet.net.jobs.single_training import SingleTraining
    from fovnet.net.jobs.workers import Job
    from fovnet.net.training.warm_start import Beginning
    from fovnet.search.look.view import Polling, Ranking
    from fovnet.search.prior import Prior
    from fovnet.search.search import Search
    from fovnet.search.space import Space
    from fovnet.search.spend.schedule import Kind, Schedule
    from fovnet.volume.collection.pack import Pack


def search_space(settings: Settings, begun: Sequence[Beginning] | None = None) -> Space:
    """The search space: the paper's 34,300 rows, the configurations of the warm-start networks, or the axes
    of the settings.

    begun  those networks, where they are known
    Raises SearchError as `fovnet.net.family.axes.in_order`, ModelError as `warm_start_networks`, and
    ConfigError as `refuse_neighbours`.
    """
    from fovnet.config.space import MEMBERS
    from fovnet.net.family.axes import in_order
    from fovnet.net.training.warm_start import space_of_members, warm_start_networks
    from fovnet.search.look.mesh import refuse_neighbours
    from fovnet.search.space import Axis, Space, paper_space

    if settings.search.space == "paper":
        space = paper_space()
    elif settings.search.space == MEMBERS:
        space = space_of_members(warm_start_networks(settings) if begun is None else begun)
    else:
        given = settings.search.model_dump()["space"]
        space = Space(in_order([Axis.of(name, levels) for name, levels in given.items()]))
    refuse_neighbours(space, _polling(settings))
    return space


def start_configuration(
    settings: Settings, begun: Sequence[Beginning] | None = None
) -> dict[str, Any]:
    """The configuration tried first: as configured, or that of the best warm-start network, of `begun` where
    they are known.  Raises ModelError as `warm_start_networks`."""
    from fovnet.net.training.warm_start import warm_start_networks

    members = warm_start_networks(settings) if begun is None else begun
    return dict(members[0].configuration if members else settings.search.start)


def changed_start(settings: Settings, changes: list[str]) -> dict[str, Any]:
    """The start configuration with "axis=level" changes.  Raises ConfigError ("train-set"), and SearchError
    as `axes.changed`."""
    import yaml

    from fovnet.config.numbers import number_in_words
    from fovnet.config.yaml_text import read_value
    from fovnet.net.family.axes import changed

    levels = {}
    for change in changes:
        name, equals, level = change.partition("=")
        if not equals:
            raise ConfigError(
                "train-set", f"--set {change}: give axis=level, for instance --set log2_filters=4"
            )
        if name.strip() in levels:
            raise ConfigError(
                "train-set", f"--set {change}: {name.strip()} is set twice; leave out one of them"
            )
        try:
            levels[name.strip()] = number_in_words(read_value(level))
        except (yaml.YAMLError, ValueError, RecursionError):
            raise ConfigError(
                "train-set",
                f"--set {change}: {level!r} is not a level of an axis; give a number or a word, for instance "
                "--set log2_filters=4",
            ) from None
    return changed(start_configuration(settings), levels)


def cost_device(settings: Settings) -> Device:
    """The device in the cost model: as configured, or as calibrated."""
    from fovnet.net.cost.calibration import read_calibration
    from fovnet.net.cost.predicted import Device

    speed = settings.search.speed
    return (
        read_calibration(Results(Path(settings.results)).calibration).device
        if isinstance(speed, str)
        else Device(**speed.model_dump())
    )


def search_prices(settings: Settings, device: Device | None = None) -> Prices:
    """Every configuration priced.  The number of validation slices is that of the settings, at most that of
    the pack; without the setting it is that of the pack, and without both 0."""
    from fovnet.config.regions import vocabulary

    validation = settings.training.validation_slices
    if (Path(settings.results) / "slices" / "slices.npz").exists():
        there = len(slices_of(settings).rows("validation"))
        validation = there if validation is None else min(validation, there)
    classes = len(vocabulary(settings.regions).classes)
    space, device = search_space(settings), device or cost_device(settings)
    return _priced(settings, space, classes, validation or 0, device)


def _priced(
    settings: Settings,
    space: Space,
    classes: int,
    validation_slices: int,
    device: Device,
    side: int = 128,
) -> Prices:
    """The rows of a space, priced for slices of this side."""
    from fovnet.net.cost.predicted import Limits, Work
    from fovnet.net.cost.prices import prices

    training, options = settings.training, settings.search
    return prices(
        space,
        classes=classes,
        head=training.head,
        inputs=training.inputs,
        averaged=training.averaging > 0,
        device=device,
        work=Work(training.slices_per_epoch, validation_slices, training.epochs),
        limits=Limits(options.memory_limit_gb * 1e9, options.seconds_limit),
        side=side,
    )


def count_fitting(settings: Settings) -> int:
    """The number of configurations within the limits; if the device is not measured yet, within that of
    memory.  Raises SearchError if it is 0."""
    from fovnet.net.cost.predicted import Device

    unknown = (
        isinstance(settings.search.speed, str)
        and not Results(Path(settings.results)).calibration.exists()
    )
    if unknown:
        settings = settings.model_copy(
            update={"search": settings.search.model_copy(update={"seconds_limit": None})}
        )
    known = search_prices(settings, Device(1.0, 1.0, 1.0) if unknown else None)
    known.refuse_where_nothing_fits()
    return int(known.fits.sum())


def probing_bench(settings: Settings, side: int = 128) -> Bench:
    """A bench on the configured device, with threads and memory allocation set as in a worker."""
    import torch

    from fovnet.config.regions import vocabulary
    from fovnet.machine.allocation import keep_freed_memory
    from fovnet.net.cost.probes import Bench
    from fovnet.net.training.train import choose_device

    torch.set_num_threads(1)
    keep_freed_memory()
    ranges = Ranges(**settings.training.augmentation.model_dump())
    training = settings.training
    return Bench(
        choose_device(training.device),
        ranges,
        len(vocabulary(settings.regions).classes),
        side=side,
        precision=training.precision,
    )


def timings_of_same_training(settings: Settings, folder: Path, device: str) -> Timings:
    """The completed trials of a results folder that ran on this device.  Raises SearchError as
    `journal_of_same_training` and `finished_trainings`."""
    from fovnet.net.cost.finished import finished_trainings

    training, journal = settings.training, journal_of_same_training(settings, folder)
    return finished_trainings(
        journal,
        device,
        head=training.head,
        slices_per_epoch=training.slices_per_epoch,
        inputs=training.inputs,
    )


@dataclass(frozen=True, eq=False)
class SearchPlan:
    """The search of the settings over the slices of a pack, and what its acts share, worked out once, when
    it is first asked for."""

    settings: Settings
    pack: Pack

    @cached_property
    def begun(self) -> tuple[Beginning, ...]:
        """The networks that trainings begin with.  Raises as `warm_start_networks`."""
        from fovnet.net.training.warm_start import warm_start_networks

        return warm_start_networks(self.settings)

    @cached_property
    def space(self) -> Space:
        """The search space.  Raises as `search_space`."""
        return search_space(self.settings, self.begun)

    @cached_property
    def prior(self) -> Prior | None:
        """What earlier searches taught, if it is to be used.  Raises as `search_prior`."""
        return search_prior(self.settings, self.space) if prior_path(self.settings) else None

    @cached_property
    def data(self) -> Labelled:
        """The slices that networks learn from and are scored on.  Raises as `labelled_rows`."""
        count, seed = self.settings.training.validation_slices, self.settings.seed
        return labelled_rows(self.pack).scored_on(count, seed)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of what a journal depends on: settings of search and training except the number of trials,
        labelled slices, warm-start networks, what earlier searches taught."""
        begun = [member.sha256 for member in self.begun]
        later = [*([begun] if begun else []), *([self.prior.sha256] if self.prior else [])]
        return digest([*self.settings.deciding, *training_fingerprint(self.pack), *later])

    def prices(self, side: int = 128) -> Prices:
        """Every configuration priced, for slices of this side.  Raises as `labelled_rows`, `cost_device` and
        `Prices.refuse_where_nothing_fits`."""
        scored, device = len(self.data.validation), cost_device(self.settings)
        known = _priced(self.settings, self.space, len(self.pack.classes), scored, device, side)
        known.refuse_where_nothing_fits()
        return known

    def search(self) -> Search:
        """The search, every configuration priced; one predicted to exceed a limit is never proposed.

        Raises SearchError if a split has no slices ("search-no-slices") or nothing fits ("no-feasible-row").
        """
        from fovnet.search.look.view import Modelling
        from fovnet.search.search import Search

        settings, options, known = self.settings, self.settings.search, self.prices()
        model = Modelling(
            options.targets,
            options.kernel,
            options.hyperparameters,
            options.per_second,
            options.choose,
            options.fidelity,
        )
        return Search(
            self.space,
            options.method,
            settings.seed,
            options.workers,
            self.space.row_of(start_configuration(settings, self.begun)),
            options.initial,
            known.seconds,
            known.fits,
            model,
            known.memory,
            options.lead,
            options.candidates,
            _schedule(settings),
            _polling(settings),
            _ranking(settings),
            self.prior,
        )

    def job(self, journal: Path) -> Job:
        """The job that the trainings of this search share, in its journal."""
        from fovnet.net.jobs.workers import Job, stamp_of

        training, pruning = self.settings.training, self.settings.training.early_stopping.envelope
        pixels = self.pack.folder / "pixels.npy"
        return Job(
            pixels,
            rows=journal / ROWS,
            weights=journal / "networks",
            head=training.head,
            device=training.device,
            recipe=self._recipe,
            envelope=Envelope(tuple(pruning.milestones), pruning.margin) if pruning else None,
            inputs=self.pack.inputs,
            kinds=tuple(training.inputs),
            begin=self.begun,
            rate_factor=training.rate_factor,
            stamp=stamp_of(pixels),
        )

    @property
    def _recipe(self) -> Recipe:
        """The numbers of every training, with the rules that end one before its last epoch."""
        training, plateau = self.settings.training, self.settings.training.early_stopping.plateau
        ends = Ends(
            training.guessing_epochs,
            60.0 * training.timeout_minutes if training.timeout_minutes else None,
            Plateau(**plateau.model_dump()) if plateau else None,
        )
        return Recipe(
            training.epochs,
            training.slices_per_epoch,
            Ranges(**training.augmentation.model_dump()),
            training.averaging,
            ends,
            training.precision,
            training.cooldown,
            training.sampling,
        )

    def single(
        self,
        configuration: dict[str, Any],
        folder: Path,
        epochs: int | None,
        training_seed: int | None,
    ) -> SingleTraining:
        """The training of one configuration on these slices; it is not started.

        epochs, training_seed  those of the settings if None
        Raises as `labelled_rows` and `warm_start_networks`.
        """
        from fovnet.net.jobs.single_training import SingleTraining

        settings, job = self.settings, self.job(folder)
        job = replace(
            job, recipe=replace(job.recipe, epochs=epochs or job.recipe.epochs), stamp=None
        )
        return SingleTraining(
            configuration,
            labelled_rows(self.pack),
            digest(training_fingerprint(self.pack)),
            folder,
            job,
            settings.seed,
            settings.seed if training_seed is None else training_seed,
            settings.training.validation_slices,
            row_frequencies(settings, self.pack),
        )

    def refuse_other_slices(self, journal: Path) -> None:
        """Raise SearchError ("journal-of-other-slices") unless the journal was begun for these slices."""
        from fovnet.search.jobs.steps import source_of

        if source_of(journal) != self.fingerprint:
            raise SearchError(
                "journal-of-other-slices",
                f"{journal}: begun for slices other than those in {self.pack.folder}; `fovnet slot begin` "
                "starts it again",
            )


def _polling(settings: Settings) -> Polling:
    """How the search polls, if it does."""
    from fovnet.search.look.view import POLLING, Neighbour, Polling

    options = settings.search
    rules = tuple(
        Neighbour(axis, one.to, tuple(one.reset.items()))
        for axis, one in options.neighbours.items()
    )
    return (
        Polling(neighbours=rules, **options.mads.model_dump())
        if options.mads
        else replace(POLLING, neighbours=rules)
    )


def _ranking(settings: Settings) -> Ranking:
    """How the search learns the order of the scores, if it does."""
    from fovnet.search.look.view import RANKING, Ranking

    given = settings.search.ranking
    return Ranking.from_facts(given.model_dump()) if given else RANKING


def prior_path(settings: Settings) -> Path | None:
    """The file of what earlier searches taught, as named, or to be learned from `learn_from`; None without
    either."""
    if settings.search.learn_from:
        return Results(Path(settings.results)).prior
    return Path(settings.search.prior) if settings.search.prior else None


def search_prior(settings: Settings, space: Space) -> Prior | None:
    """What earlier searches taught, if it is to be used.  Raises SearchError as `read_prior`, and
    "prior-missing" where it is still to be learned."""
    from fovnet.search.prior import read_prior

    path = prior_path(settings)
    if path and settings.search.learn_from and not path.exists():
        raise SearchError(
            "prior-missing",
            f"{path}: nothing learned yet from {', '.join(settings.search.learn_from)}; `fovnet search "
            "learn --config CONFIG` does that, or leave search.learn_from out.",
        )
    return read_prior(path, space.axes) if path else None


def _schedule(settings: Settings) -> Schedule:
    """How the search spends epochs; each rung is a training of its own where a cooldown makes its rates
    depend on its length."""
    from fovnet.search.spend.schedule import FULL, Schedule

    options, training = settings.search, settings.training
    if options.spends == "full":
        return FULL
    kind = cast("Kind", options.spends)
    return Schedule(
        kind,
        training.epochs,
        options.eta,
        options.least_epochs,
        options.reuse,
        training.cooldown > 0,
    )


def jobs_journal(settings: Settings, results: Results) -> Path:
    """The journal of the search with these settings that runs its slots as separate jobs."""
    return results.jobs(digest(settings.deciding))
