"""What a configuration means here: its space, device, prices, search and trainings, made of its settings and of the slices on disk.

Nothing heavy is imported before it is needed: pricing a space costs no torch.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fovnet.commands import is_to_simulate, simulating, with_config
from fovnet.errors import ConfigError
from fovnet.results import SHIPPED_NETWORKS, Results

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor

    from fovnet.config import Settings
    from fovnet.net.cost import Device
    from fovnet.net.prices import Prices
    from fovnet.net.probing import Bench
    from fovnet.net.single_training import SingleTraining
    from fovnet.net.speed import Timings
    from fovnet.net.stopping import Ends
    from fovnet.net.trials import Labelled
    from fovnet.net.warm_start import Beginning
    from fovnet.net.workers import Job
    from fovnet.regions import Vocabulary
    from fovnet.search.envelope import Envelope
    from fovnet.search.explaining import Explanation
    from fovnet.search.proposing import Search
    from fovnet.search.space import Space
    from fovnet.search.trial import Trial
    from fovnet.volume.pack import Pack


def opened(settings: Settings) -> tuple[Results, Pack]:
    """The results folder of a configuration, and the slices in it.

    Raises CollectionError as `load_pack`, and ConfigError ("slices-other-settings") where they were cut or labelled otherwise than the
    configuration says: regions would be told by each other's names, and a report would state what nothing was made with.
    """
    from fovnet.volume.pack import load_pack

    results = Results(Path(settings.results))
    pack = load_pack(results.slices)
    _refuse_other_slices(settings, results, pack)
    return results, pack


def _refuse_other_slices(settings: Settings, results: Results, pack: Pack) -> None:
    from fovnet.errors import ConfigError

    wanted = {"classes": ", ".join(vocabulary_of(settings).classes),
              **{name: settings.prepare.slicing[name] for name in ("target_spacing_mm", "max_tilt_deg")}}
    made = {"classes": ", ".join(pack.classes), **pack.looks}
    for name, value in wanted.items():
        if made.get(name, value) != value:
            raise ConfigError("slices-other-settings", f"{results.slices}: made with {name} = {made[name]}, and the configuration says "
                                                       f"{value}; give the one that made them, another `results`, or `fovnet slice` again")


def concluded(results: Results) -> tuple[Path, list[Trial]]:
    """The journal of the last finished search in a results folder, and its trials: of one that was asked for more before, the first.

    Raises SearchError ("search-missing") where no search has finished, ("slot-missing") where one of its slots is gone, and as
    `fovnet.search.journal.read_trials` does.
    """
    from fovnet.errors import SearchError
    from fovnet.records import read_json
    from fovnet.search.journal import read_trials, slot_path, to_repeat

    try:
        facts = read_json(results.search / "current.json")
        journal, count = results.search / str(facts["journal"]), int(facts["trials"])
    except (OSError, ValueError, KeyError, TypeError):
        raise SearchError("search-missing", f"{results.search}: no finished search in it; run `fovnet search` first") from None
    trials = {trial.proposal.slot: trial for trial in read_trials(journal)}
    for slot in range(count):
        if slot not in trials:
            gone = slot_path(journal, slot)
            raise SearchError("slot-missing", f"{gone}: is gone, of a search that has finished; {to_repeat(gone)}")
    return journal, [trials[slot] for slot in range(count)]


def explained(journal: Path, trials: Sequence[Trial] | None = None) -> tuple[Search, Explanation]:
    """The search in a journal, and what can be said of it afterwards, from all its trials or from these, which are all that was asked for
    unless the search has ended before."""
    from fovnet.search.explaining import explain
    from fovnet.search.journal import read_search, read_trials
    from fovnet.search.proposals import asked_of

    owner, known = read_search(journal), read_trials(journal) if trials is None else trials
    told = asked_of(journal, len(known))
    asked = len(known) if trials is not None and told.ends_after is None else told.trials
    return owner, explain(owner, known, asked=asked, ends_after=told.ends_after, notes=told.notes)


def vocabulary_of(settings: Settings) -> Vocabulary:
    """The regions that the settings name, or fovnet's own six.  Raises ConfigError as `fovnet.config.vocabulary`."""
    from fovnet.config import vocabulary

    return vocabulary(settings.regions)


def space_of(settings: Settings) -> Space:
    """What is searched: the paper's 34,300 rows, the networks begun with, one row each, or the axes of the settings.

    Raises SearchError where axes name no network, and ModelError as `beginnings_of`.
    """
    from fovnet.config import MEMBERS
    from fovnet.net.axes import in_order
    from fovnet.net.warm_start import space_of_members
    from fovnet.search.space import Axis, Space, paper_space

    if settings.search.space == "paper":
        return paper_space()
    if settings.search.space == MEMBERS:
        return space_of_members(beginnings_of(settings))
    given = settings.search.model_dump()["space"]
    return Space(in_order([Axis.of(name, levels) for name, levels in given.items()]))


def start_of(settings: Settings) -> dict[str, Any]:
    """The configuration tried first: as configured, or that of the best network to begin with."""
    members = beginnings_of(settings)
    return dict(members[0].configuration if members else settings.search.start)


def begun_with(settings: Settings) -> tuple[Path, dict[str, Any]] | None:
    """The ensemble whose networks trainings begin with, and its facts; None where weights are drawn.

    Raises ModelError where it is none, and ConfigError "begin-in-results" where it is the one that this configuration makes.
    """
    from fovnet.errors import ConfigError
    from fovnet.net.warm_start import SHIPPED, facts_of

    if (begin := settings.training.begin) is None:
        return None
    folder = SHIPPED_NETWORKS if begin == SHIPPED else Path(begin)
    if folder.resolve() == Results(Path(settings.results)).ensemble.resolve():
        raise ConfigError("begin-in-results", f"training.begin: {begin}: is what this run replaces; give its results another folder")
    return folder, facts_of(folder)


def beginnings_of(settings: Settings) -> tuple[Beginning, ...]:
    """The networks that trainings begin with, the best first; none where weights are drawn.  Raises ModelError as `begun_with`, and
    where they are shown something else than is configured."""
    from fovnet.net.warm_start import beginnings, refuse_other_inputs

    begun = begun_with(settings)
    members = () if begun is None else beginnings(*begun)
    refuse_other_inputs(members, settings.training.inputs, settings.training.head)
    return members


def mixed_with(settings: Settings, members: Sequence[Mapping[str, Any]]) -> tuple[float, dict[int, Path]] | None:
    """The share of the trained weights in an ensemble's members, and by slot the weights file that each was trained from.

    members  facts of each: slot and configuration
    None where the members are what was trained.  Raises ModelError as `beginnings_of`, and where none there is of a member's shape.
    """
    from fovnet.net.warm_start import nearest

    if settings.ensemble.blend == 1:
        return None
    begun = beginnings_of(settings)
    return settings.ensemble.blend, {member["slot"]: nearest(begun, member["configuration"]).weights for member in members}


def search_digest(settings: Settings, pack: Pack) -> str:
    """What a journal depends on: all settings of search and training but the number of trials, and the labelled slices."""
    from fovnet.config import deciding
    from fovnet.records import digest

    begun = [member.sha256 for member in beginnings_of(settings)]
    return digest([*deciding(settings), *learned_from(pack), *([begun] if begun else [])])


def learned_from(pack: Pack) -> list[Any]:
    """What a training learns from the pack: the pixels, what they show, by name, how large they are, and who is in which split."""
    from fovnet.records import checksum

    told = [(record.split, record.side_mm) for record in pack.records]
    return [checksum(pack.folder / "pixels.npy"), checksum(pack.folder / "slices.npz"), told, list(pack.classes)]


def device_of(settings: Settings) -> Device:
    """The device as the cost model sees it: as configured, or as calibrated."""
    from fovnet.net.calibration import read_calibration
    from fovnet.net.cost import Device

    speed = settings.search.speed
    return read_calibration(Results(Path(settings.results)).calibration).device if isinstance(speed, str) else Device(**speed.model_dump())


def prices_of(settings: Settings, device: Device | None = None) -> Prices:
    """Every configuration priced; the validation slices are those of the settings, but no more than the pack has, else of the pack, else
    none."""
    from fovnet.net.cost import Limits, Work
    from fovnet.net.prices import prices

    training, options, validation = settings.training, settings.search, settings.training.validation_slices
    if (Path(settings.results) / "slices" / "slices.npz").exists():
        there = len(opened(settings)[1].rows("validation"))
        validation = there if validation is None else min(validation, there)
    return prices(
        space_of(settings), classes=len(vocabulary_of(settings).classes), head=training.head, inputs=training.inputs,
        averaged=training.averaging > 0,
        device=device or device_of(settings),
        work=Work(training.slices_per_epoch, validation or 0, training.epochs),
        limits=Limits(options.memory_limit_gb * 1e9, options.seconds_limit),
    )


def refuse_where_nothing_fits(settings: Settings, priced: Prices) -> None:
    """Raises as `fovnet.net.cost.fits` where every configuration is foreseen beyond the limits of memory or of seconds."""
    from fovnet.net.cost import Limits, fits

    fits(priced.memory, priced.seconds, Limits(settings.search.memory_limit_gb * 1e9, settings.search.seconds_limit))


def count_fitting(settings: Settings) -> int:
    """How many configurations keep the limits; of a device that is still to be measured, the limit of memory.  Raises SearchError: none."""
    from fovnet.net.cost import Device

    unknown = isinstance(settings.search.speed, str) and not Results(Path(settings.results)).calibration.exists()
    if unknown:
        settings = settings.model_copy(update={"search": settings.search.model_copy(update={"seconds_limit": None})})
    priced = prices_of(settings, Device(1.0, 1.0, 1.0) if unknown else None)
    refuse_where_nothing_fits(settings, priced)
    return int(priced.fits.sum())


def bench_of(settings: Settings) -> Bench:
    """The configured device, set as a worker sets it."""
    import torch

    from fovnet.maths.allocation import keep_freed_memory
    from fovnet.net.augment import Ranges
    from fovnet.net.probing import Bench
    from fovnet.net.training import choose_device

    torch.set_num_threads(1)
    keep_freed_memory()
    ranges = Ranges(**settings.training.augmentation.model_dump())
    training = settings.training
    return Bench(choose_device(training.device), ranges, len(vocabulary_of(settings).classes), precision=training.precision)


def finished_in(settings: Settings, folder: Path, device: str) -> Timings:
    """The completed trials of a results folder that ran on this device, for a search with the same training.  Raises SearchError."""
    from fovnet.net.finished import finished_trainings

    training, journal = settings.training, concluded_alike(settings, folder)
    return finished_trainings(
        journal, device, head=training.head, slices_per_epoch=training.slices_per_epoch, inputs=training.inputs
    )


def concluded_alike(settings: Settings, folder: Path) -> Path:
    """The journal of the finished search in a results folder whose training is the configured one, on whatever device: each trial
    tells its own.

    Raises SearchError ("calibration-training") where it is another, and as `concluded`.
    """
    from fovnet.errors import SearchError
    from fovnet.records import digest, read_json

    training, (journal, _) = settings.training, concluded(Results(folder))
    told = Results(folder).search / "current.json"
    alike = {digest({**training.model_dump(mode="json"), "device": device}) for device in ("auto", "cpu", "cuda")}
    if read_json(told).get("training_sha256") not in alike:
        raise SearchError("calibration-training", f"{told}: its training is another than the configured one, or was made by an earlier "
                                                  "fovnet (`fovnet search` says it now); calibrate without --from")
    return journal


def labelled_of(pack: Pack) -> Labelled:
    """What of the pack a training learns from: a slice of two regions has half its target on each."""
    from fovnet.net.trials import Labelled

    targets = pack.truth / pack.truth.sum(axis=1, keepdims=True).clip(1)
    return Labelled(targets.astype("float32"), pack.rows("train"), pack.rows("validation"), pack.placing)


def drawn_how_often(settings: Settings, pack: Pack) -> Tensor | None:
    """(n,) how often a training draws each of its rows, as its classes are weighed by; None where all alike."""
    import torch

    from fovnet.net.training import each_volume_alike

    return None if settings.training.sampling == "slices" else each_volume_alike(torch.from_numpy(pack.volume[pack.rows("train")]))


def scored_of(settings: Settings, pack: Pack) -> Labelled:
    """What of the pack the trainings of a search learn from, and the validation rows that all of them are scored on."""
    from dataclasses import replace

    from fovnet.net.trials import drawn

    data = labelled_of(pack)
    return replace(data, validation=drawn(data.validation, settings.training.validation_slices, settings.seed))


def search_of(settings: Settings, pack: Pack) -> Search:
    """The search over the pack's slices, every configuration priced."""
    from fovnet.net.cost import Limits
    from fovnet.net.trials import plan_search
    from fovnet.search.view import Modelling

    options, training = settings.search, settings.training
    return plan_search(
        space_of(settings), scored_of(settings, pack),
        head=training.head, slices_per_epoch=training.slices_per_epoch, epochs=training.epochs, averaged=training.averaging > 0,
        limits=Limits(options.memory_limit_gb * 1e9, options.seconds_limit),
        speed=device_of(settings),
        method=options.method, workers=options.workers, lead=options.lead, seed=settings.seed, start=start_of(settings),
        initial=options.initial,
        modelling=Modelling(options.targets, options.kernel, options.hyperparameters, options.per_second),
        inputs=training.inputs,
    )


def job_of(settings: Settings, pack: Pack, journal: Path) -> Job:
    """What the trainings of a search share."""
    from fovnet.net.trials import training_job

    training = settings.training
    apart = {"augmentation", "validation_slices", "guessing_epochs", "timeout_minutes", "early_stopping", "inputs", "begin"}
    recipe = {**training.augmentation.model_dump(), **training.model_dump(exclude=apart)}
    ends, envelope = ends_of(settings)
    recipe |= {"ends": ends, "envelope": envelope, "inputs": pack.inputs, "kinds": tuple(training.inputs)}
    recipe |= {"begin": beginnings_of(settings)}
    return training_job(pack.folder / "pixels.npy", journal, recipe)


def ends_of(settings: Settings) -> tuple[Ends, Envelope | None]:
    """What ends a training before its last epoch, and what more a search prunes by."""
    from fovnet.net.stopping import Ends, Plateau
    from fovnet.search.envelope import Envelope

    training, early = settings.training, settings.training.early_stopping
    plateau = Plateau(**early.plateau.model_dump()) if early.plateau else None
    envelope = Envelope(tuple(early.envelope.milestones), early.envelope.margin) if early.envelope else None
    seconds = 60.0 * training.timeout_minutes if training.timeout_minutes else None
    return Ends(training.guessing_epochs, seconds, plateau), envelope


def configuration_of(settings: Settings, changes: list[str]) -> dict[str, Any]:
    """The start of the search, with "axis=level" changes.  Raises ConfigError or SearchError with what is wrong."""
    import yaml

    from fovnet.config import number_in_words
    from fovnet.net.axes import changed

    levels = {}
    for change in changes:
        name, equals, level = change.partition("=")
        if not equals:
            raise ConfigError("train-set", f"--set {change}: give axis=level, for instance --set log2_filters=4")
        if name.strip() in levels:
            raise ConfigError("train-set", f"--set {change}: {name.strip()} is set twice; leave one of them out")
        try:
            levels[name.strip()] = number_in_words(yaml.safe_load(level))
        except (yaml.YAMLError, ValueError, RecursionError):
            raise ConfigError("train-set", f"--set {change}: {level!r} is no level of an axis; give a number or a word, for instance "
                                           "--set log2_filters=4") from None
    return changed(start_of(settings), levels)


def pack_to_train_on(settings: Settings, config: Path) -> Pack:
    """The slices in the results folder.  Raises CollectionError with what to run first where there are none."""
    from fovnet.errors import CollectionError

    try:
        return opened(settings)[1]
    except CollectionError as fault:
        if fault.code != "pack-missing":
            raise
        slices, first = Results(Path(settings.results)).slices, f"`{with_config('slice', config)}`"
        if is_to_simulate(settings):
            first = f"`{simulating(settings)}` and {first}"
        raise CollectionError("pack-missing", f"{slices}: no slices to train on; run {first} first") from None


BY_HAND = ("pixels", "rows", "weights", "source", "stamp")       # of a Job, what a training by hand says itself or leaves out


def training_of(
    settings: Settings, pack: Pack, configuration: dict[str, Any], folder: Path, epochs: int | None, training_seed: int | None
) -> SingleTraining:
    """The training of one configuration on the pack's slices."""
    from dataclasses import fields

    from fovnet.net.single_training import SingleTraining
    from fovnet.net.trials import refuse_without_slices
    from fovnet.records import digest

    refuse_without_slices(labelled_of(pack))
    shared = job_of(settings, pack, folder)
    recipe = {field.name: getattr(shared, field.name) for field in fields(shared) if field.name not in BY_HAND}
    source = digest(learned_from(pack))
    return SingleTraining(
        configuration, labelled_of(pack), pack.folder / "pixels.npy", source, folder, {**recipe, "epochs": epochs or shared.epochs},
        settings.seed, settings.seed if training_seed is None else training_seed, settings.training.validation_slices,
        drawn_how_often(settings, pack),
    )


def jobs_of(settings: Settings, results: Results) -> Path:
    """The journal of the search with these settings whose slots are jobs."""
    from fovnet.config import deciding
    from fovnet.records import digest

    return results.jobs(digest(deciding(settings)))


def refuse_other_slices(settings: Settings, pack: Pack, journal: Path) -> None:
    """Nothing, where the journal was begun for the slices that lie there now.  Raises SearchError."""
    from fovnet.errors import SearchError
    from fovnet.search.jobs import source_of

    if source_of(journal) != search_digest(settings, pack):
        raise SearchError(
            "journal-of-other-slices", f"{journal}: begun for other slices than those in {pack.folder}; `fovnet slot begin` begins it anew"
        )
