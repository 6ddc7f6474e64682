"""The command line: each verb is a sentence - read, call, write.  The only file that prints, exits, or reads sys.argv.

Exit status: 0 done; 1 a bug, with its traceback in a log file; 2 wrong usage, settings or input; 3 some volumes were refused and the
rest were done.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from fovnet import __version__
from fovnet.errors import ConfigError, FovnetError
from fovnet.evaluate import finished_run
from fovnet.maths.pace import Pace
from fovnet.net import configured
from fovnet.report import predictions, run_report
from fovnet.results import Results

if TYPE_CHECKING:
    from fovnet.bench.mistrust import Labelled as LabelledVolume
    from fovnet.bench.mistrust import Share
    from fovnet.config import Settings
    from fovnet.decision.rule import Rule
    from fovnet.evaluate.measures import Measure
    from fovnet.evaluate.paired import Difference
    from fovnet.net.by_hand import Training
    from fovnet.net.calibration import Calibration
    from fovnet.net.training import Progress as TrainingProgress
    from fovnet.regions import Vocabulary
    from fovnet.report.answers import Told
    from fovnet.search.trial import Outcome, Trial
    from fovnet.volume.adapters.gathered import Gathered
    from fovnet.volume.discovery import Found

app = typer.Typer(
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
    help="Which part of the body does an MRI volume show?  From volumes to regions, extents in millimetres, honest confidence.",
)  # fmt: skip
collect = typer.Typer(no_args_is_help=True, help="Make the tables of a collection from a tree of volumes as it was published.")
bench = typer.Typer(no_args_is_help=True, help="Measure: what a search needs on recorded trainings, and how fast networks train.")
slot = typer.Typer(no_args_is_help=True, help="Search slot by slot, one command each, as a cluster does; the trials are those of `search`.")
app.add_typer(collect, name="collect")
app.add_typer(bench, name="bench")
searching = typer.Typer(help="Search the network space: propose, train, learn, propose; goes on where it was after a kill.")
app.add_typer(searching, name="search")
app.add_typer(slot, name="slot")
export = typer.Typer(no_args_is_help=True, help="Hand the answers of `predict` on: DICOM SR, BIDS, relabelled copies, a table of headers.")
app.add_typer(export, name="export")
out, err = Console(soft_wrap=True, markup=False), Console(stderr=True, soft_wrap=True)      # names of files may hold [brackets]



def _to_write(path: Path | None, folder: bool) -> Path | None:
    """The path given as `--out`, once it is known that it can be written.  Raises ConfigError "out-unwritable" before any work is done."""
    from fovnet.records import unwritable

    if path is not None and (why := unwritable(path, folder=folder)):
        raise ConfigError("out-unwritable", f"--out {path}: {why}; give a {'folder' if folder else 'file'} that can be written")
    return path


def _file_to_write(path: Path | None) -> Path | None:
    return _to_write(path, folder=False)


def _folder_to_write(path: Path | None) -> Path | None:
    return _to_write(path, folder=True)


FileOut, FolderOut = partial(typer.Option, callback=_file_to_write), partial(typer.Option, callback=_folder_to_write)
ENGINE_HELP = "auto, torch, onnx or openvino: what computes the networks; auto: the fastest that is installed.  The answers are the same."
ConfigFile = Annotated[Path, typer.Option("--config", help="YAML file; configs/ has some to start from.")]
WITHOUT_HELP = "A feature that is not varied, such as masks; may be repeated. A wrong name is answered with all there are."
SCENARIO_HELP = "memory, steep, untold, diverging-rows, diverging-rates, killed or rates-and-kills, one or several; else all."
ModelFolder = Annotated[Path | None, typer.Option(
    help="An ensemble folder, as a workflow run leaves it; without, the networks that come with the package.", show_default=False)]
Workers = Annotated[int, typer.Option(min=1, help="Processes; the result does not depend on it.")]
Answers = Annotated[Path, typer.Argument(help="The folder that `fovnet predict --out` wrote.")]
Regions = Annotated[str, typer.Option(help="The vocabulary of the ensemble: default, or its YAML file.")]
Slot = Annotated[int, typer.Option(min=0, help="Which slot, counted from 0.")]


@app.callback(invoke_without_command=True)
def version(show: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False) -> None:
    if show:
        out.print(f"fovnet {__version__}")
        raise typer.Exit


@app.command()
def check(config: ConfigFile) -> None:
    """Say whether a configuration can be meant, and what it comes to."""
    from fovnet.config import vocabulary

    settings = _settings(config)
    space = configured.space_of(settings)
    row = space.row_of(settings.search.start)
    fit = configured.count_fitting(settings, space)
    classes = ", ".join(vocabulary(settings.regions).classes)
    told = [_told_of(name, Path(folder), vocabulary(settings.regions)) for name, folder in settings.collections.items()]
    out.print(
        f"{config}: fine.  {len(space):,} configurations, {fit:,} within the limits, starting at row {row:,}; classes {classes}; "
        f"results in {settings.results}"
    )
    for sentence in told:
        out.print(sentence, markup=False, highlight=False)


def _told_of(name: str, folder: Path, words: Vocabulary) -> str:
    """What a collection's tables hold, or that they are not there yet.  Raises CollectionError with every fault in them, ConfigError
    for a folder that does not exist."""
    from fovnet.volume.collection import nearest_name, read_collection
    from fovnet.volume.dicom_address import split_address

    if not folder.exists():
        near = nearest_name(folder)
        raise ConfigError("collection-missing", f"collections.{name}: {folder}: there is no such folder; {near or 'check the path'}")
    if folder.is_dir() and not (folder / "volumes.tsv").exists():
        return f"collection {name}: there is no {folder / 'volumes.tsv'} yet"
    table = read_collection(folder, words)
    subjects = len({row.subject_id for row in table.volumes})
    missing = [row.path for row in table.volumes if not split_address(row.path)[0].exists()]
    lacking = f"; {len(missing):,} of their files are not there, the first {missing[0]}" if missing else ""
    return f"collection {name}: {len(table.volumes):,} volumes of {subjects:,} subjects, {len(table.regions):,} labelled{lacking}"


@app.command()
def cost(
    config: ConfigFile,
    out_file: Annotated[Path | None, FileOut("--out", help="A TSV file: weights, operations, memory, seconds of every row.")] = None,
) -> None:
    """Say what every configuration of the space takes, before any is trained: weights, operations, memory, seconds."""
    from fovnet.net.prices import quantiles, search_seconds, table
    from fovnet.records import write_tsv
    from fovnet.report.wording import duration

    settings = _settings(config)
    priced = configured.prices_of(settings)
    if out_file is not None:
        write_tsv(out_file, *table(priced))
    options, rows = settings.search, len(priced.space)
    limits = [f"{priced.small.sum():,} need no more than {options.memory_limit_gb:g} GB"]
    if options.seconds_limit is not None:
        limits.append(f"{priced.short.sum():,} take no longer than {duration(options.seconds_limit)}")
    out.print(f"{rows:,} configurations: {', '.join(limits)}; {priced.fits.sum():,} fit.", highlight=False)
    configured.refuse_where_nothing_fits(settings, priced)
    shown = _table("of those that fit", "", "least", "a quarter", "half", "three quarters", "most")
    for name, values in quantiles(priced).items():
        shown.add_row(name, *(f"{value:,.3g}" if value < 1000 else f"{value:,.0f}" for value in values))
    _show(shown)
    start = priced.space.row_of(options.start)
    figures = (
        f"{priced.cost.weights[start]:,.0f} weights, {priced.cost.forward_flop[start] / 1e6:,.0f} million operations a slice, "
        f"{priced.memory[start] / 1e6:,.0f} MB, {duration(float(priced.seconds[start]))}"
    )
    out.print(f"The start, row {start:,}: {figures}{'' if priced.fits[start] else '; it does not fit'}.", highlight=False)
    whole = duration(search_seconds(priced, options.trials, options.workers))
    told = f"{options.trials} trials, {options.workers} at a time: about {whole}, were they a fair sample of those that fit."
    out.print(told, highlight=False)
    if out_file is not None:
        out.print(f"{out_file}")


@app.command()
def calibrate(
    config: ConfigFile,
    again: Annotated[bool, typer.Option("--again", help="Measure anew, though there is a calibration.")] = False,
    trials_of: Annotated[
        Path | None, typer.Option("--from", help="A results folder whose finished trials, of the same training, are taken into the fit.")
    ] = None,
    check: Annotated[int, typer.Option(min=0, help="Train so many other networks for a moment, and compare with what is predicted.")] = 0,
) -> None:
    """Measure the device for the cost model, in about a minute: calibration.json in the results folder; one that is there is kept."""
    from dataclasses import asdict

    from fovnet.net.calibration import read_calibration, with_trials, write_calibration

    settings = _settings(config)
    path = Results(Path(settings.results)).calibration
    told: dict[str, Any] = {"settings": settings.training.model_dump(), "seed": settings.seed}
    if again or not path.exists():
        write_calibration(path, _calibrated(settings), **told)
    elif trials_of is None:
        out.print("kept as it is, for predictions order the clock of a search; --again measures anew")
    known = read_calibration(path)
    if trials_of is not None:
        known = with_trials(known, configured.finished_in(settings, trials_of, known.name))
        write_calibration(path, known, **told)
    numbers = ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in asdict(known.device).items())
    near = (abs(known.misfits - 1) <= 0.25).sum()
    fitted = f"{len(known.probes)} networks and {known.trials} trials fitted, {near} of the networks within 25 %"
    out.print(f"{known.name}: {numbers}; {fitted}: {path}", highlight=False)
    if check:
        _check_predictions(settings, known, check, path.with_name("calibration-check.tsv"))


@app.command()
def phantom(
    folder: Annotated[Path, typer.Argument(help="Where volumes.tsv, regions.tsv and volumes/ are written.")],
    subjects: Annotated[int, typer.Option(min=1)] = 8,
    volumes: Annotated[int, typer.Option(min=1, help="Volumes of each subject.")] = 3,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    workers: Workers = 1,
    without: Annotated[list[str] | None, typer.Option("--without", help=WITHOUT_HELP)] = None,
    labels: Annotated[Path | None, typer.Option("--from", help="Scan your own segmentation instead: a label volume, NIfTI.")] = None,
    tissues: Annotated[Path | None, typer.Option(help="What its labels are: a TSV; label, tissue (or pd, t1_ms, t2_ms).")] = None,
    regions: Annotated[Path | None, typer.Option(help="Where its regions are: a TSV of region, from_mm, to_mm (or slices).")] = None,
    count: Annotated[int, typer.Option(min=1, help="Volumes made of it.")] = 20,
) -> None:
    """Simulate a labelled collection of MRI volumes of whole bodies and parts of them, or of a segmentation of your own."""
    from fovnet.phantom.collection import simulate_collection

    if labels is not None:
        _phantom_of_labels(folder, labels, tissues, regions, count, seed, without or [])
        return
    if tissues is not None or regions is not None:
        told = tissues or regions
        raise ConfigError("phantom-from", f"{told}: tells of a segmentation, and none is given; name it with --from, or leave {told} out")
    with _bar("simulating") as tell:
        table = simulate_collection(folder, subjects=subjects, volumes_per_subject=volumes, seed=seed, workers=workers,
                                    without=without or [], progress=tell)
    out.print(f"{subjects * volumes} volumes of {subjects} subjects: {table}")


def _phantom_of_labels(
    folder: Path, labels: Path, tissues: Path | None, regions: Path | None, count: int, seed: int, without: list[str]
) -> None:
    """A collection whose volumes are scans of one segmentation."""
    from fovnet.phantom.own_labels import read_labels, simulate_labels

    if tissues is None:
        raise ConfigError("phantom-tissues", f"--from {labels}: give --tissues, a TSV that says what each label is (label, tissue)")
    with _bar("simulating") as tell:
        table = simulate_labels(read_labels(labels, tissues, regions), folder, count=count, seed=seed, without=without, progress=tell)
    out.print(f"{count} volumes of {labels}: {table}")


INCLUDE_HELP = "DICOM series that are set aside, to be read all the same: localizer,derived,phase,single,repeat."
Tree = Annotated[Path, typer.Argument(help="The top folder of the tree.", exists=True, file_okay=False)]
Tables = Annotated[Path, FolderOut("--out", help="Where volumes.tsv, aside.tsv and, with labels, regions.tsv are written.")]
Replace = Annotated[bool, typer.Option("--replace", help="Write over tables that lie there already.")]


@collect.command("bids")
def collect_bids(tree: Tree, out_folder: Tables, replace: Replace = False) -> None:
    """The anatomical MR images of a BIDS data set, with what their sidecars say of the scanner; unlabelled."""
    from fovnet.volume.adapters.bids import gather_bids

    _collected(gather_bids(tree), tree, out_folder, replace)


@collect.command("dicom")
def collect_dicom(
    tree: Tree, out_folder: Tables, include: Annotated[str, typer.Option(help=INCLUDE_HELP)] = "", replace: Replace = False
) -> None:
    """Every MR series of a DICOM tree, with its scanner and plane; unlabelled, subjects as hashes."""
    from fovnet.volume.adapters.dicom import gather_dicom

    _collected(gather_dicom(tree, _included(include)), tree, out_folder, replace)


@collect.command("organs")
def collect_organs(
    tree: Tree,
    out_folder: Tables,
    labels: Annotated[Path | None, typer.Option(help="What numbered labels mean: a table of number and name.")] = None,
    replace: Replace = False,
) -> None:
    """Volumes with organ masks beside them (segmentations/<organ>.nii.gz): the organs tell the regions."""
    from fovnet.volume.adapters.masked import gather_masked

    _collected(gather_masked(tree, labels), tree, out_folder, replace)


@collect.command("totalsegmentator")
def collect_totalsegmentator(tree: Tree, out_folder: Tables, replace: Replace = False) -> None:
    """The TotalSegmentator MRI data set as published, labelled by its organs."""
    from fovnet.volume.adapters.totalsegmentator import gather_totalsegmentator

    _collected(gather_totalsegmentator(tree), tree, out_folder, replace)


@collect.command("spider")
def collect_spider(tree: Tree, out_folder: Tables, replace: Replace = False) -> None:
    """SPIDER as published: lumbar spines."""
    from fovnet.volume.adapters.spider import gather_spider

    _collected(gather_spider(tree), tree, out_folder, replace)


@collect.command("chaos")
def collect_chaos(tree: Tree, out_folder: Tables, replace: Replace = False) -> None:
    """CHAOS as published: the MR series, unlabelled."""
    from fovnet.volume.adapters.chaos import gather_chaos

    _collected(gather_chaos(tree), tree, out_folder, replace)


@collect.command("ixi")
def collect_ixi(tree: Tree, out_folder: Tables, replace: Replace = False) -> None:
    """IXI as published: heads."""
    from fovnet.volume.adapters.ixi import gather_ixi

    _collected(gather_ixi(tree), tree, out_folder, replace)


def _collected(gathered: Gathered, tree: Path, folder: Path, replace: bool) -> None:
    """The tables written, and in a sentence what is in them; status 3 where something was set aside as broken."""
    from fovnet.volume.adapters.gathered import write_tables

    table = write_tables(folder, gathered, tree, replace=replace)
    subjects, labelled = len({row.subject_id for row in gathered.volumes}), len({row.volume_id for row in gathered.regions})
    aside = f"{len(gathered.aside)} set aside or not labelled, {gathered.broken} of them broken: {folder / 'aside.tsv'}"
    out.print(f"{len(gathered.volumes)} volumes of {subjects} subjects, {labelled} labelled: {table}; {aside}", highlight=False)
    if gathered.broken:
        raise typer.Exit(3)


@app.command("slice")
def slice_(
    config: ConfigFile,
    workers: Workers = 1,
    prune_cache: Annotated[bool, typer.Option("--prune-cache", help="Remove cached slices that none of these volumes uses.")] = False,
) -> None:
    """Cut all volumes of the configured collections into slices, and split the subjects."""
    from fovnet.config import vocabulary
    from fovnet.volume.identity import read_identifiers
    from fovnet.volume.pack import slice_collections
    from fovnet.volume.slices import Slicing

    settings = _settings(config)
    results = Results(Path(settings.results))
    collections = finished_run.collections_of(settings, results)
    with _bar("slicing") as tell:
        pack = slice_collections(
            collections, results.slices, vocabulary=vocabulary(settings.regions), slicing=Slicing(**settings.prepare.slicing),
            seed=settings.seed, fractions=settings.prepare.split, workers=workers,
            identifiers=read_identifiers(settings.identifiers, results.folder),
            prune_cache=prune_cache, progress=tell,
            say=lambda sentence: err.print(sentence, markup=False, highlight=False),
        )  # fmt: skip
    refused = [record for record in pack.records if record.status == "refused"]
    for record in refused:
        err.print(f"refused {record.volume_id}: {record.message} [{record.code}]", markup=False, highlight=False)
    out.print(f"{len(pack.pixels):,} slices of {len(pack.records) - len(refused)} volumes, {len(refused)} refused: {results.slices}")
    if refused:
        raise typer.Exit(3)


@searching.callback(invoke_without_command=True)
def search(
    context: typer.Context,
    config: Annotated[Path | None, typer.Option("--config", help="YAML file; configs/ has some to start from.")] = None,
) -> None:
    """Search the network space: propose, train, learn, propose; goes on where it was after a kill."""
    if context.invoked_subcommand is not None:
        return
    if config is None:
        raise ConfigError("search-config", "fovnet search: --config is missing; name a YAML file, or try `fovnet search --help`")
    _search(config)


@searching.command()
def explain(
    run: Annotated[Path, typer.Argument(help="A search's journal, or a results folder whose search is done.")],
    out_file: Annotated[Path | None, FileOut("--out", help="Where the JSON is written; else explain.json in the journal.")] = None,
) -> None:
    """Explain a search afterwards: convergence, forecasts, what mattered, what failed."""
    from dataclasses import asdict

    from fovnet.errors import SearchError
    from fovnet.records import write_json
    from fovnet.report.explained import brief_table, pairs_table, sentences

    if not any(path.exists() for path in (run / "search.json", Results(run).search / "current.json")):
        wanted = "give a journal (results/.../search/<twelve characters>), or a results folder whose search is done"
        raise SearchError("explain-run", f"{run}: neither search.json nor search/current.json in it; {wanted}")
    journal = run if (run / "search.json").exists() else configured.journal_of(Results(run))
    owner, explanation = configured.explained(journal)
    path = write_json(out_file or journal / "explain.json", asdict(explanation), settings=owner.identity, seed=owner.seed)
    for paragraph in sentences(explanation):
        out.print(paragraph, highlight=False)
    for told in (brief_table(explanation.matter), pairs_table(explanation.matter)):
        if told.rows:
            table = Table(*told.header)
            for row in told.rows:
                table.add_row(*map(str, row))
            out.print(table)
    out.print(f"explained: {path}")


@app.command()
def train(
    config: ConfigFile,
    out_folder: Annotated[Path, FolderOut("--out", help="Where the network, trial.json and curve.png are written.")],
    changes: Annotated[list[str] | None, typer.Option("--set", help="axis=level, several times; else search.start is trained.")] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Else training.epochs.")] = None,
    training_seed: Annotated[int | None, typer.Option("--seed", min=0, help="Of the training; a trial's own repeats it.")] = None,
) -> None:
    """Train one configuration by hand; status 3 where it does not complete.  Killed, the same command goes on."""
    from fovnet.net.training import choose_device

    settings = _settings(config)
    configuration = configured.configuration_of(settings, changes or [])
    choose_device(settings.training.device)
    pack = configured.pack_to_train_on(settings, config)
    training = configured.training_of(settings, pack, configuration, out_folder, epochs, training_seed)
    with _epochs(settings.training.slices_per_epoch) as tell:
        outcome = training.outcome(tell)
    _draw_training(training, outcome)
    done = len(outcome.validation_loss)
    best = "" if outcome.score is None else f", validation loss {outcome.score:.4f} at best"
    out.print(f"{outcome.status} after {done} epochs{best}{outcome.message and f': {outcome.message}'}")
    out.print(f"{out_folder}: {', '.join(path.name for path in sorted(out_folder.iterdir()) if path.is_file())}")
    if outcome.status != "completed":
        raise typer.Exit(3)


def _search(config: Path) -> None:
    """The search of a configuration, from its journal on."""
    from fovnet.net.training import choose_device
    from fovnet.net.trials import search_networks

    settings = _settings(config)
    choose_device(settings.training.device)
    results, pack = configured.opened(settings)
    journal = results.journal(configured.search_digest(settings, pack))
    planned = configured.search_of(settings, pack, journal)
    with _bar("searching") as tell:
        trials = search_networks(
            planned, configured.job_of(settings, pack, journal), journal, trials=settings.search.trials,
            stop_below_regret=settings.search.stop_below_regret, progress=tell,
        )  # fmt: skip
    _conclude(settings, results, journal, trials)


@slot.command("begin")
def slot_begin(config: ConfigFile) -> None:
    """Begin a search whose slots run one by one: everything that is decided before the first."""
    from fovnet.search.jobs import begin

    settings = _settings(config)
    results, pack = configured.opened(settings)
    journal = configured.jobs_of(settings, results)
    planned = configured.search_of(settings, pack, journal)
    begin(planned, journal, configured.search_digest(settings, pack))
    out.print(f"{planned.feasible.sum():,} of {len(planned.space):,} configurations fit: {journal}")


@slot.command("propose")
def slot_propose(config: ConfigFile, slot: Slot) -> None:
    """Decide what a slot trains, from the slots that it has to have seen; writes proposal-0007.json."""
    from fovnet.search.jobs import propose

    settings = _settings(config)
    decided = propose(configured.jobs_of(settings, Results(Path(settings.results))), slot, settings.search.stop_below_regret)
    out.print(decided if isinstance(decided, str) else f"slot {slot}: {dict(decided.configuration)}, having seen {len(decided.seen)} slots")


@slot.command("train")
def slot_train(config: ConfigFile, slot: Slot) -> None:
    """Train what was proposed for a slot; writes slot-0007.json, whatever the training comes to."""
    from fovnet.net.trials import train_slot

    settings = _settings(config)
    if settings.training.device == "cuda":      # the others are everywhere, and asking costs seconds of importing torch here too
        from fovnet.net.training import choose_device

        choose_device(settings.training.device)
    results, pack = configured.opened(settings)
    journal = configured.jobs_of(settings, results)
    configured.refuse_other_slices(settings, pack, journal)
    trial = train_slot(configured.job_of(settings, pack, journal), journal, slot)
    out.print(" ".join(["slot", str(slot), trial.outcome.status, _number(trial.score), trial.outcome.message]).rstrip())


@slot.command("gather")
def slot_gather(config: ConfigFile) -> None:
    """End a search whose slots are all finished: trials.tsv, for the ensemble and the report."""
    from fovnet.search.jobs import gather

    settings = _settings(config)
    results, pack = configured.opened(settings)
    journal = configured.jobs_of(settings, results)
    configured.refuse_other_slices(settings, pack, journal)
    _conclude(settings, results, journal, gather(journal, settings.search.trials))


@app.command()
def propose(
    journal: Annotated[Path, typer.Argument(help="A search's journal: results/.../search/<twelve characters>")],
    slot: Annotated[int, typer.Option(min=0, help="Which slot to work out anew from what it had seen.")],
) -> None:
    """Work out what a search proposes for a slot; a finished slot gives its recorded proposal again."""
    from dataclasses import asdict

    from fovnet.search.journal import replay

    out.print_json(json.dumps(asdict(replay(journal, slot))))


@app.command()
def ensemble(config: ConfigFile) -> None:
    """Make members of the best trials, and let them score the validation and test slices once."""
    from dataclasses import replace

    import numpy as np

    from fovnet.decision import novelty
    from fovnet.decision.ensemble import assemble, choose, guessing_loss, load, save_weighing
    from fovnet.decision.packed import Scored
    from fovnet.decision.spans import Rule
    from fovnet.decision.weighing import mean, weigh
    from fovnet.evaluate.guards import learned_from
    from fovnet.maths.allocation import keep_freed_memory
    from fovnet.records import write_npz
    from fovnet.search.journal import read_trials

    keep_freed_memory()
    settings = _settings(config)
    results, pack = configured.opened(settings)
    journal = configured.journal_of(results)
    guess = guessing_loss(pack.truth[pack.rows("train")], pack.truth[pack.rows("validation")])
    members = choose(read_trials(journal), settings.ensemble.members, guess, journal / "networks")
    assemble(
        results.ensemble, members, configured.vocabulary_of(settings), settings.prepare.slicing,
        settings=settings.ensemble.model_dump(), seed=settings.seed, subjects=learned_from(pack), precision=settings.ensemble.precision,
    )  # fmt: skip
    model = load(results.ensemble, settings.training.device, rule=Rule())
    train, rows = pack.rows("train"), np.sort(np.concatenate([pack.rows("validation"), pack.rows("test")]))
    model = model.learn(pack.pixels, train, pack.truth[train], seed=settings.seed, placing=pack.placing)
    with _bar("scoring") as tell:
        scored = Scored(rows, model.look(pack.pixels, tell, rows, pack.placing))
    look, truth, people = scored.split(pack, "validation")
    found = weigh(look.members, truth, people, settings.ensemble.weights)
    scored = replace(scored, weights=tuple(found.weights.tolist()))
    save_weighing(results.ensemble, found, settings=settings.ensemble.model_dump(), seed=settings.seed)
    if model.familiar is not None and look.distances is not None:
        novelty.save(results.ensemble, novelty.calibrated(model.familiar, look.distances, mean(look.members, found.weights)))
    write_npz(results.probabilities, **scored.arrays())
    out.print(f"{len(members)} members, weights {found.way}, {len(rows):,} slices scored: {results.ensemble}")


@app.command()
def tune(config: ConfigFile) -> None:
    """Choose temperature, smoothing and thresholds of the decision on the validation split, and when to abstain."""
    from dataclasses import replace

    from fovnet.decision import novelty
    from fovnet.decision.ensemble import save_rule
    from fovnet.decision.judging import Judge
    from fovnet.decision.packed import examples, shown, shown_volumes
    from fovnet.decision.settling import settle
    from fovnet.decision.tuning import slice_error, usual_heights
    from fovnet.decision.tuning import tune as tuned
    from fovnet.evaluate.guards import learned_from

    settings = _settings(config)
    results, pack = configured.opened(settings)
    options, scored = settings.decision, _scored(results)
    volumes = examples(pack, scored, "validation")
    rule, candidates = tuned(
        volumes, configured.vocabulary_of(settings), sigmas_mm=options.sigma_mm, thresholds=options.protocol_threshold,
        heights=usual_heights(shown(pack, "train"), configured.vocabulary_of(settings)) if options.heights != "never" else (),
        method=options.method, heights_for="presence" if options.heights == "presence" else "all",
    )  # fmt: skip
    judge, abstention = settle(
        Judge(configured.vocabulary_of(settings), replace(rule, weights=scored.weights), novelty.load(results.ensemble)),
        shown_volumes(pack, scored, "validation"), stated_error=options.stated_error, at_risk=options.at_risk, seed=settings.seed,
    )  # fmt: skip
    facts = {"candidates": candidates, "abstention": abstention, "subjects": learned_from(pack)}
    path = save_rule(results.ensemble, judge.rule, facts, settings=options.model_dump(), seed=settings.seed)
    error = slice_error(volumes, configured.vocabulary_of(settings), judge.rule)
    chosen = f"smoothing {rule.sigma_mm:g} mm, temperature {rule.temperature:.2f}, {'with' if rule.heights else 'without'} usual heights"
    told = f"answers from confidence {judge.rule.min_confidence:.2f} on, at most {options.stated_error:.0%} of their slices wrong"
    seen = f"{abstention['subjects']} validation subjects"
    held = f"shown by {seen}" if abstention["promised"] else f"{seen} were too few, or erred too much, to promise it for others"
    out.print(f"{told}: {held}")
    out.print(f"{chosen}; {error:.1%} slice error on the validation split: {path}")


@app.command()
def decide(config: ConfigFile) -> None:
    """Decide on the volumes of the test split: spans.tsv and a JSON a volume."""
    from fovnet.decision import novelty
    from fovnet.decision.answer import COLUMNS, facts, table_rows
    from fovnet.decision.ensemble import read_rule
    from fovnet.decision.judging import Judge
    from fovnet.decision.packed import decisions
    from fovnet.records import write_json, write_tsv

    settings = _settings(config)
    results, pack = configured.opened(settings)
    rows = []
    judge = Judge(configured.vocabulary_of(settings), read_rule(results.ensemble), novelty.load(results.ensemble))
    for given, stack, raw in decisions(pack, _scored(results), "test", judge):
        rows += table_rows(given, stack)
        write_json(
            results.decisions / f"{given.volume_id}.json", facts(given, stack, raw, configured.vocabulary_of(settings)),
            settings=settings.decision.model_dump(), seed=settings.seed,
        )  # fmt: skip
    out.print(f"{len({row['volume_id'] for row in rows})} volumes decided: {write_tsv(results.decisions / 'spans.tsv', COLUMNS, rows)}")


@app.command()
def evaluate(config: ConfigFile) -> None:
    """Compare what was said of the test split with what is true."""
    from fovnet.evaluate.writing import write_evaluation

    settings = _settings(config)
    results, pack = configured.opened(settings)
    evaluation, _ = finished_run.evaluation_of(settings, results, pack)
    written = write_evaluation(results.evaluation, evaluation, settings=settings.evaluate.model_dump())
    out.print(f"{len(evaluation.volumes)} volumes evaluated: {written[0]}")


@app.command()
def ablate(config: ConfigFile) -> None:
    """Say what each step is worth, on the test split: reading the probabilities, mixing the members, searching the network."""
    from fovnet.decision.ensemble import read_rule
    from fovnet.evaluate.ablation import SHOWN, ablate, write_ablation
    from fovnet.evaluate.networks import networks_of
    from fovnet.search.journal import read_trials

    settings = _settings(config)
    results, pack = configured.opened(settings)
    finished_run.evaluation_of(settings, results, pack)                          # what stops an evaluation stops this one too
    journal, arrays = configured.journal_of(results), _scored_arrays(results)
    with _bar("scoring") as tell:
        networks = networks_of(
            pack, arrays, results.ensemble, read_trials(journal), journal / "networks", settings.search.start,
            device=settings.training.device, progress=tell,
        )  # fmt: skip
    with _bar("deciding") as tell:
        found = ablate(
            pack, networks, arrays["rows"], configured.vocabulary_of(settings), read_rule(results.ensemble),
            bootstrap=settings.evaluate.bootstrap, seed=settings.seed, progress=tell,
        )  # fmt: skip
    written = write_ablation(results.evaluation, found, settings=settings.evaluate.model_dump())
    shown = _table("test split; below each figure what the step changes, with its 95 % interval over subjects", "", "arm",
                   *(name.removeprefix("border_").replace("_", " ") for name, _ in SHOWN))  # fmt: skip
    for step in found.steps:
        measures = {(one.name, one.stage): one for one in step.measures}
        gains = {(one.measure, one.stage): one for one in step.gains}
        shown.add_row(step.ladder, step.arm, *(_plain(measures[key].name, measures[key].value) for key in SHOWN))
        if gains:
            shown.add_row("", "", *(_gain(gains.get(key)) for key in SHOWN))
    _show(shown)
    for ladder, arm, why in found.left_out:
        out.print(f"left out of {ladder}: {arm}; {why}", highlight=False)
    out.print(f"{written[0]}  {written[1]}", highlight=False)


EXAMINED = (
    ("slice_error", "raw"), ("slice_error", "decided"), ("balanced_accuracy", "decided"), ("presence_f1_weighted", "decided"),
    ("exact_set", "decided"), ("border_abs_median_mm", "decided"), ("border_within_10_mm", "decided"), ("border_interval_holds", "decided"),
)  # fmt: skip
"""What `examine` shows of its measures; the tables have them all."""


@app.command()
def examine(
    answers: Annotated[Path, typer.Argument(help="A folder that `predict --out` wrote.")],
    truth: Annotated[Path, typer.Option(help="A collection with labels: a folder with volumes.tsv and regions.tsv.")],
    out_folder: Annotated[Path, FolderOut("--out", help="Where evaluation.json, rates.tsv, volumes.tsv, borders.tsv are written.")],
    regions: Annotated[str, typer.Option(help="The regions the ensemble knows: default, or a YAML file.")] = "default",
    bootstrap: Annotated[int, typer.Option(min=100, help="Resamples of the subjects.")] = 1000,
    seed: Annotated[int, typer.Option(min=0)] = 1,
) -> None:
    """Hold the answers of `predict` against what a labelled collection says is true."""
    from fovnet.config import vocabulary
    from fovnet.evaluate.answers import answered_cases, shown
    from fovnet.evaluate.evaluation import evaluate as evaluated
    from fovnet.evaluate.writing import write_evaluation
    from fovnet.volume.collection import read_collection

    known = vocabulary(regions)
    cases, lacking = answered_cases(answers, read_collection(truth, known), known)
    found = evaluated(cases, known, bootstrap=bootstrap, seed=seed)
    if lacking:
        out.print(f"{len(lacking)} labelled volumes without an answer, set aside or not given: {', '.join(lacking)}", highlight=False)
    rows = _table(f"{len(cases)} labelled volumes; slices as predict cuts them, not every one", "volume", "status", "truth", "said",
                  "slices right")
    for row in shown(cases, known):
        rows.add_row(row["volume_id"], row["status"], row["truth"], row["said"], f"{row['right']}/{row['slices']}" if row["slices"] else "")
    _show(rows)
    rates = _table("with 95 % intervals over subjects", "measure", "all read", "answered surely")
    for name, stage in EXAMINED:
        where = "regions" if name.startswith("border") else ""
        told = [group.find(name, stage, where) if group else None for group in (found.everything, found.answered)]
        rates.add_row(" ".join([name.replace("_", " "), stage]), *(_measured(one) for one in told))
    _show(rates)
    written = write_evaluation(out_folder, found, settings={"regions": regions, "bootstrap": bootstrap})
    out.print("  ".join(map(str, written)), highlight=False)


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(help="A results folder, or the folder `evaluation` in it.")],
    second: Annotated[Path, typer.Argument(help="Another one, on the same volumes and the same truth.")],
    out_folder: Annotated[Path | None, FolderOut("--out", help="Where comparison.json and comparison.tsv are written.")] = None,
    bootstrap: Annotated[int, typer.Option(min=100, help="Resamples of the subjects.")] = 1000,
    seed: Annotated[int, typer.Option(min=0)] = 1,
) -> None:
    """Compare two runs on the same volumes: second minus first, with intervals that resample the subjects of both at once."""
    from fovnet.evaluate.comparing import compare, verdict, write_comparison

    found = compare(first, second, bootstrap=bootstrap, seed=seed)
    shown = _table(f"{found.volumes} volumes of {found.subjects} subjects", "measure", "first", "second", "second minus first", "better")
    for one in found.differences:
        values = (_plain(one.measure, value) for value in (one.first, one.second))
        shown.add_row(" ".join(filter(None, (one.measure.replace("_", " "), one.stage))), *values, _gain(one), verdict(one))
    _show(shown)
    out.print(f"fewer wrong slices in the second: {found.better} volumes, more: {found.worse}", highlight=False)
    if out_folder is not None:
        out.print("  ".join(map(str, write_comparison(out_folder, found))), highlight=False)


@app.command()
def report(config: ConfigFile) -> None:
    """Write the report: one page that needs nothing else."""
    settings = _settings(config)
    results, pack = configured.opened(settings)
    run_report.write(settings, results, pack)
    out.print(f"report: {results.report}")


@app.command()
def predict(
    paths: Annotated[list[Path], typer.Argument(readable=False, help="Volumes, or folders that hold some.")],
    out_folder: Annotated[Path, FolderOut("--out", help="Where spans.tsv, and a JSON and a picture a volume are written.")],
    model: ModelFolder = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    pictures: Annotated[bool, typer.Option(help="Draw a picture of every volume.")] = True,
    pages: Annotated[bool, typer.Option(help="Write a page of every volume, and index.html over all of them.")] = True,
    faces: Annotated[bool, typer.Option(help="Without: slices that may show a face are covered in pictures and pages.")] = True,
    include: Annotated[str, typer.Option(help=INCLUDE_HELP)] = "",
    show_ids: Annotated[bool, typer.Option("--show-ids", help="Real ids of patient, study and series in found.tsv.")] = False,
    workers: Annotated[int, typer.Option(min=1, help="Processes that read volumes ahead; the answers do not depend on it.")] = 1,
    engine: Annotated[str, typer.Option(help=ENGINE_HELP)] = "auto",
) -> None:
    """Say which regions new volumes show; one broken file never stops the rest, and a killed run goes on with the same command.

    `fovnet export` hands the answers on; `fovnet export headers` compares them with what DICOM headers say.
    """
    from fovnet.decision.ensemble import load
    from fovnet.decision.kept import kept_rows
    from fovnet.decision.predicting import predict as predicted
    from fovnet.maths.allocation import keep_freed_memory
    from fovnet.volume.discovery import find, name_volumes

    keep_freed_memory()
    networks, wanted = load(_model_folder(model), device, engine=engine), _included(include)
    found = find(paths, wanted, show_ids=show_ids)
    _write_found(out_folder, found.series, wanted, show_ids)
    files = sorted(found.volumes)            # names of equal files are told apart by order, which must not be that of the arguments
    named = list(zip(name_volumes(files), files, strict=True))
    rows: dict[str, list[dict[str, Any]]] = {}
    fresh = []
    for volume_id, path in named:
        kept = kept_rows(out_folder, volume_id, path, networks.identity, beside=predictions.beside(volume_id, pictures, pages), faces=faces)
        if kept is None:
            fresh.append((volume_id, path))
        else:
            rows[volume_id] = kept
    with _bar("predicting", "volumes") as tell:
        tell(len(rows), len(named))
        for one in predicted(fresh, networks, workers):
            rows[one.answer.volume_id] = predictions.write(
                out_folder, one, networks.vocabulary, networks.identity, networks.computed_by, pictures=pictures, pages=pages, faces=faces
            )
            tell(len(rows), len(named))
    table = [row for volume_id, _ in named for row in rows[volume_id]]
    _write_spans(out_folder, table)
    if pages:
        predictions.write_index_of(out_folder, [rows[volume_id] for volume_id, _ in named])
    left = _told_of_refusals(table, found)
    counted, index = f"{len(named)} volume{'s' if len(named) != 1 else ''}", f", {out_folder / INDEX}" if pages else ""
    out.print(f"{counted}, {left}: {out_folder / 'spans.tsv'}{index}")
    if left != NONE_REFUSED:
        raise typer.Exit(3)


def _model_folder(model: Path | None) -> Path:
    """The ensemble folder that is meant.  Raises ModelError where none is named and none came with the package."""
    from fovnet.decision.shipped import shipped_folder

    return shipped_folder() if model is None else model


NONE_REFUSED, INDEX = "0 refused", "index.html"


def _told_of_refusals(table: list[dict[str, Any]], found: Found) -> str:
    """What was not read, counted; each with its reason on the screen.  A member of an archive is told here; an archive of which
    nothing could be read is told in the table."""
    refused = [row for row in table if row["status"] == "refused"]
    for row in refused:
        err.print(f"refused {row['volume_id']}: {row['message']}", markup=False, highlight=False)
    told = {row["path"] for row in refused}
    unread = [row for row in found.series if row["kind"] == "unreadable"]
    inside = [row for row in unread if row["path"].partition(", member ")[0] not in told]
    for row in inside:
        err.print(f"not read: {row['reason']}", markup=False, highlight=False)
    counted = f", {len(inside)} object{'s' if len(inside) > 1 else ''} in archives could not be read"
    return f"{len(refused)} refused" + (counted if inside else "")


@export.command("sr")
def export_sr(
    answers: Answers, folder: Annotated[Path, FolderOut("--out", help="Where a DICOM file a volume is written.")],
    regions: Regions = "default",
) -> None:  # fmt: skip
    """DICOM Comprehensive 3D SR (TID 1500): a measurement group a span, in the source's study, referring to its images."""
    from fovnet.report.structured import write_report

    _exported(answers, "SR", lambda told, words: write_report(told, words, folder), folder, regions)


@export.command("copies")
def export_copies(
    answers: Answers, folder: Annotated[Path, FolderOut("--out", help="Where a folder of DICOM files a volume is written.")],
    regions: Regions = "default",
) -> None:  # fmt: skip
    """Copies of the DICOM sources with Body Part Examined and Anatomic Region as told; the sources are not touched.  They name people."""
    from fovnet.report.copies import refuse_beside_sources, write_copies

    refuse_beside_sources(answers, folder)
    _exported(answers, "copies", lambda told, words: write_copies(told, words, folder), folder, regions)


@export.command("bids")
def export_bids(
    answers: Answers, folder: Annotated[Path, FolderOut("--out", help="The derivative's folder.")], regions: Regions = "default"
) -> None:
    """A BIDS derivative: a JSON with BodyPart and the spans for every volume."""
    from fovnet.config import vocabulary
    from fovnet.report.answers import read_answers
    from fovnet.report.bids import write_bids

    written = write_bids(read_answers(answers), vocabulary(regions), folder)
    out.print(f"{len(written) - 1} sidecars: {folder}", highlight=False)


@export.command("headers")
def export_headers(
    answers: Answers, table: Annotated[Path, FileOut("--out", help="The table to write.")], regions: Regions = "default"
) -> None:
    """Body Part Examined of every DICOM volume beside what the pixels show, disagreements first."""
    from fovnet.config import vocabulary
    from fovnet.report.answers import read_answers
    from fovnet.report.headers import VERDICTS, compare, write_headers

    compared = compare(read_answers(answers), vocabulary(regions))
    counts = Counter(one.verdict for one in compared)
    out.print(", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS) + f": {write_headers(compared, table)}", highlight=False)


@export.command("bundle")
def export_bundle(
    folder: Annotated[Path, FolderOut("--out", help="The bundle's folder.")], model: ModelFolder = None
) -> None:
    """A MONAI Bundle of an ensemble: metadata, configuration for inference, weights as safetensors."""
    from fovnet.decision.bundle import write_bundle

    out.print(f"MONAI Bundle: {write_bundle(_model_folder(model), folder)}", highlight=False)


@export.command("shipped")
def export_shipped(
    results: Annotated[Path, typer.Argument(help="The results folder of a finished run.")],
    folder: Annotated[Path, FolderOut("--out", help="The folder to fill: fovnet/decision/shipped in a clone.")],
) -> None:
    """The ensemble that comes with the package, from a finished run: at most 15 MB, with its card and checksums, naming nobody."""
    from fovnet.decision.shipped import ship

    made = ship(Results(results), folder)
    out.print(f"{made.members} members, {made.bytes / 1e6:.2f} MB: {made.folder}", highlight=False)


def _exported(answers: Path, what: str, write: Callable[[Told, Vocabulary], Any], folder: Path, regions: str) -> None:
    """Every answer handed on; what cannot be is named, and the status is then 3."""
    from fovnet.config import vocabulary
    from fovnet.report.answers import read_answers

    told, words, left = read_answers(answers), vocabulary(regions), 0
    for one in told:
        try:
            write(one, words)
        except FovnetError as fault:
            left += 1
            err.print(f"no {what}: {fault.sentence}", markup=False, highlight=False)
    out.print(f"{len(told) - left} of {len(told)} volumes: {folder}", highlight=False)
    if left:
        raise typer.Exit(3)


@bench.command("search")
def bench_search(
    tables: Annotated[list[Path], typer.Argument(help="Tables of recorded trainings: npz files with X, kinds, y, cost, names.")],
    out_folder: Annotated[Path, FolderOut("--out", help="Where standings.tsv, runs.tsv and standings.png are written.")],
    method: Annotated[list[str] | None, typer.Option(help="A method, or several, other libraries' too; else gp-ei and random.")] = None,
    runs: Annotated[int | None, typer.Option(min=1, help="Runs of each method, from the same first rows; else 20.")] = None,
    draws: Annotated[int, typer.Option(min=1, help="Most trainings of a run; a goal missed is counted so.")] = 150,
    initial: Annotated[int | None, typer.Option(min=1, help="Draws spread over the space before a model is asked; else a few.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Trainings at a time, in virtual time.")] = 1,
    lead: Annotated[float, typer.Option(min=0, max=1, help="How far they may run ahead of the results; 1: never wait.")] = 0.15,
    processes: Annotated[int, typer.Option(min=1, help="Processes; the result does not depend on it.")] = 1,
    targets: Annotated[str | None, typer.Option(help="What of the scores is modelled: half-ranked, ranked, raw.")] = None,
    kernel: Annotated[str, typer.Option(help="matern52 or squared-exponential.")] = "matern52",
    hyperparameters: Annotated[str, typer.Option(help="map or sampled.")] = "map",
    thesis: Annotated[
        bool, typer.Option("--thesis", help="As in Bertrand's thesis: raw targets, a model from the second draw, every row first once.")
    ] = False,
) -> None:
    """Replay search methods on recorded trainings: draws until the best row, and until the good ones."""
    from fovnet.bench.races import Entry, modelling_of, race, refuse_methods, spread_rows
    from fovnet.bench.tables import load_table

    methods, tables = list(dict.fromkeys(method or ["gp-ei", "random"])), list(dict.fromkeys(tables))
    refuse_methods(methods, workers)
    modelling = modelling_of(targets or ("raw" if thesis else "half-ranked"), kernel, hyperparameters)
    before = initial or (1 if thesis else None)
    loaded = {path: load_table(path) for path in tables}
    firsts: dict[Path, list[int | None]] = {
        path: [*spread_rows(len(table.space), runs or len(table.space))] if thesis else [None] * (runs or 20)
        for path, table in loaded.items()
    }
    entries = [
        Entry(path, name, seed, draws, before, workers, modelling, first, lead)
        for path in tables for name in methods for seed, first in enumerate(firsts[path])
    ]  # fmt: skip
    with _bar("racing") as tell:
        results = list(race(entries, processes, tell))
    _show_standings(out_folder, loaded, results)


@bench.command("bound")
def bench_bound(
    rows: Annotated[int, typer.Option(min=1, help="Rows of the space.")] = 34_300,
    out_file: Annotated[Path | None, FileOut("--out", help="A TSV file for the same numbers.")] = None,
) -> None:
    """Say how many draws random search needs until it has probably drawn one of the best rows."""
    from fovnet.bench.bounds import CERTAINTIES, SHARES, bounds
    from fovnet.records import write_tsv

    found = bounds(rows)
    title = f"draws of {rows:,} rows, no row twice (any row again)"
    shown = _table(title, "one of the best", "rows", *(f"with > {p:g}" for p in CERTAINTIES))
    for share in SHARES:
        same = [bound for bound in found if bound.share == share]
        cells = [f"{bound.without_replacement} ({bound.with_replacement})" for bound in same]
        shown.add_row(f"{100 * share:g} %", f"{same[0].good:,}", *cells)
    _show(shown)
    if out_file is not None:
        write_tsv(out_file, list(vars(found[0])), [vars(bound) for bound in found])
        out.print(f"{out_file}")


@bench.command("propose")
def bench_propose(
    out_file: Annotated[Path, FileOut("--out", help="A TSV file for the numbers.")],
    trials: Annotated[list[int] | None, typer.Option(min=2, max=30_000, help="Trials known in the end; or several numbers.")] = None,
    method: Annotated[str, typer.Option(help="A search method.")] = "gp-ei",
    diverged: Annotated[float, typer.Option(min=0.0, max=0.9, help="Share of the trials that have diverged.")] = 0.0,
    seed: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """Measure what a proposal costs over the paper's 34,300 rows: seconds on one core, refits counted, and memory."""
    from fovnet.bench.pace import paces
    from fovnet.bench.races import refuse_unknown
    from fovnet.records import write_tsv

    refuse_unknown([method])
    with _bar("timing") as tell:
        measured = list(paces(method, trials or [300, 1000], seed, diverged, tell))
    write_tsv(out_file, list(vars(measured[0])), [vars(pace) for pace in measured])
    shown = _table(
        f"{method}: seconds a proposal over {measured[0].rows:,} rows",
        "trials known", "proposals (refits)", "median", "mean", "max", "processor", "after a restart", "peak MB (idle)",
    )  # fmt: skip
    for pace in measured:
        seconds = [f"{value:.3f}" for value in (pace.median, pace.mean, pace.worst, pace.cpu, pace.resumed)]
        shown.add_row(f"{pace.trials:,}", f"{pace.proposals} ({pace.refits})", *seconds, f"{pace.peak_mb:.0f} ({pace.idle_mb:.0f})")
    _show(shown)
    out.print(f"{out_file}")


@bench.command("edge")
def bench_edge(
    out_folder: Annotated[Path, FolderOut("--out", help="Where edge.tsv and walks.tsv are written.")],
    scenario: Annotated[list[str] | None, typer.Option(help=SCENARIO_HELP)] = None,
    method: Annotated[list[str] | None, typer.Option(help="A search method, or several; else gp-ei and random.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Problems of each scenario.")] = 40,
    processes: Annotated[int, typer.Option(min=1, help="Processes; the result does not depend on it.")] = 1,
) -> None:
    """Count the draws that fail for lack of memory, or otherwise, before the best network that can be trained is drawn."""
    from fovnet.bench.edge import MEASURES, SCENARIOS, edge_standings, walks
    from fovnet.bench.races import refuse_unknown
    from fovnet.records import write_tsv

    scenarios, methods = scenario or list(SCENARIOS), method or ["gp-ei", "random"]
    refuse_unknown(methods)
    for name in scenarios:
        if name not in SCENARIOS:
            raise ConfigError("bench-scenario", f"--scenario {name}: unknown; choose among {', '.join(SCENARIOS)}")
    tasks = [(name, how, seed) for name in scenarios for how in methods for seed in range(seeds)]
    with _bar("walking") as tell:
        made = list(zip(tasks, walks(tasks, processes, tell), strict=True))
    lines = [{"scenario": name, "method": how, "seed": seed, **vars(one), "failed": one.failed} for (name, how, seed), one in made]
    write_tsv(out_folder / "walks.tsv", list(lines[0]), lines)
    shown = _table(f"until the best row that trains, {seeds} seeds: mean (95 % interval; worst)", "scenario", "method", *MEASURES)
    rows = []
    for name in scenarios:
        for how in methods:
            standing = edge_standings(name, how, [one for (a, b, _), one in made if (a, b) == (name, how)])
            rows += standing
            shown.add_row(name, how, *(f"{row.mean:.1f} ({row.low:.0f}-{row.high:.0f}; {row.worst})" for row in standing))
    write_tsv(out_folder / "edge.tsv", list(vars(rows[0])), [vars(row) for row in rows])
    _show(shown)
    if lost := sum(not one.found for _, one in made):
        out.print(f"{lost} of {len(made)} searches never drew it: the machine ended it each time it was tried; they count with all rows")
    out.print(f"{out_folder / 'edge.tsv'}")


@bench.command("train")
def bench_train(
    out_folder: Annotated[Path, FolderOut("--out", help="Where throughput.tsv and throughput.png are written.")],
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    repeats: Annotated[int, typer.Option(min=1, help="Epochs of each pipeline, in turn; medians are told.")] = 5,
    budget_seconds: Annotated[float, typer.Option(min=1.0, help="Of each configuration; those that need more are left out.")] = 12.0,
    memory_gb: Annotated[float, typer.Option(min=0.1, help="Configurations predicted to need more are left out.")] = 4.0,
    loader_workers: Annotated[int | None, typer.Option(min=0, help="Of MONAI's; else the cores less one, 8 at most.")] = None,
    pack: Annotated[Path | None, typer.Option(help="A folder of slices, as `fovnet slice` makes it; else slices are drawn.")] = None,
) -> None:
    """Measure training: images per second beside a pipeline as the MONAI tutorials write it, memory, and where a step's time goes."""
    from fovnet.bench.throughput import COLUMNS, SPREAD, Bounds, throughputs
    from fovnet.records import write_tsv
    from fovnet.report.canvas import save_png
    from fovnet.report.throughput import throughput_figure

    workers = max(1, min(8, (os.cpu_count() or 1) - 1)) if loader_workers is None else loader_workers
    bounds = Bounds(budget_seconds, memory_gb * 1e9, repeats, workers)
    with _bar("training") as tell:
        rows = list(throughputs(device, bounds, pack / "pixels.npy" if pack else None, SPREAD, tell))
    write_tsv(out_folder / "throughput.tsv", COLUMNS, [vars(row) for row in rows])
    shown = _table(
        f"training, median of {repeats}; MONAI with {workers} loader workers", "configuration", "images/s", "ms/step", "matrix rate",
        "data", "MB (predicted)", "MONAI", "ratio (range)",
    )  # fmt: skip
    for row in rows:
        if row.images_per_second is None:
            shown.add_row(row.label, *[""] * 3, row.note)
            continue
        ratio = "" if row.ratio is None else f"{row.ratio:.1f} ({row.ratio_low:.1f}-{row.ratio_high:.1f})"
        shown.add_row(
            row.label, f"{row.images_per_second:,.0f}", f"{row.ms_per_step:.1f}", f"{row.matrix_share:.0%}", f"{row.handling_share:.0%}",
            f"{row.peak_mb:,.0f} ({row.predicted_mb:,.0f})", f"{row.monai_images_per_second or 0:,.0f}", ratio,
        )  # fmt: skip
    _show(shown)
    for note in sorted({row.note for row in rows if row.note and row.images_per_second is not None}):
        out.print(note)
    save_png(throughput_figure(rows), out_folder / "throughput.png")
    out.print(f"{out_folder / 'throughput.tsv'}")


@bench.command("slice")
def bench_slice(
    paths: Annotated[list[Path], typer.Argument(help="Volumes, or folders that hold some.")],
    out_file: Annotated[Path, FileOut("--out", help="A TSV file for the times of every file.")],
    repeats: Annotated[int, typer.Option(min=1, help="Turns of each way; medians are told.")] = 5,
) -> None:
    """Measure slicing: milliseconds a file beside MONAI's transforms, and beside bare unpacking with one resize."""
    from fovnet.bench.slicing import COLUMNS, medians, slicing_times
    from fovnet.errors import VolumeError
    from fovnet.records import write_tsv
    from fovnet.volume.discovery import find_volumes

    with _bar("slicing") as tell:
        rows = list(slicing_times(find_volumes(paths), repeats, tell))
    if all(row.ours_ms is None for row in rows):
        raise VolumeError("slice-nothing", f"none of {len(rows)} could be cut: {'; '.join(row.note for row in rows[:3])}")
    write_tsv(out_file, COLUMNS, [vars(row) for row in rows])
    shown = _table(f"slicing, one thread, median of {repeats}", "file", "slices", "ms", "MONAI", "unpacking", "floor",
                   "MONAI / ms", "ms / floor")  # fmt: skip
    for row in rows:
        if row.ours_ms is not None:
            times = ("" if ms is None else f"{ms:,.0f}" for ms in (row.ours_ms, row.monai_ms, row.unpack_ms, row.floor_ms))
            ratios = ("" if ratio is None else f"{ratio:.2f}" for ratio in (row.monai_over_ours, row.over_floor))
            shown.add_row(Path(row.path).name, str(row.slices), *times, *ratios)
    middle = medians(rows)
    ratios = ("" if middle[name] is None else f"{middle[name]:.2f}" for name in ("monai_over_ours", "over_floor"))
    shown.add_row("median", *[""] * 5, *ratios)
    _show(shown)
    out.print("milliseconds; floor: unpacking and one resize")
    for row in rows:
        if row.note:
            out.print(row.note if row.ours_ms is None else f"{Path(row.path).name}: {row.note}")
    out.print(f"{out_file}")
    if any(row.ours_ms is None for row in rows):
        raise typer.Exit(3)


@bench.command("predict")
def bench_predict(
    out_file: Annotated[Path, FileOut("--out", help="A TSV file for the times of every file and engine.")],
    paths: Annotated[list[Path] | None, typer.Argument(help="Volumes; without, one is simulated.", show_default=False)] = None,
    shape: Annotated[tuple[int, int, int], typer.Option(min=8, help="Voxels of the simulated volume.")] = (320, 250, 72),
    model: ModelFolder = None,
    repeats: Annotated[int, typer.Option(min=1, help="Turns; medians are told.")] = 5,
    engine: Annotated[list[str] | None, typer.Option(help="One, or several; without, all installed.", show_default=False)] = None,
) -> None:
    """Measure prediction: volumes a second, milliseconds of each stage and peak memory, with every engine that is installed."""
    from fovnet.bench.predicting import COLUMNS, STAGES, predicting_times, simulated
    from fovnet.records import write_tsv

    with tempfile.TemporaryDirectory() as place, _bar("predicting") as tell:
        files = paths or [simulated(Path(place) / "simulated.nii.gz", shape)]
        rows = list(predicting_times(files, _model_folder(model), repeats, tell, engine or ()))
    write_tsv(out_file, COLUMNS, [vars(row) for row in rows])
    measured = [row for row in rows if row.total_ms is not None]
    shown = _table(f"milliseconds a volume on the CPU, median of {repeats}", "file", "voxels", "engine", *STAGES, "all", "gzip and numpy",
                   "volumes / s", "peak MB")  # fmt: skip
    for row in measured:
        stages = [getattr(row, f"{stage}_ms") for stage in (*STAGES, "total", "unpack")]
        cells = ["" if ms is None else f"{ms:,.0f}" for ms in stages]
        shown.add_row(Path(row.path).name, row.voxels, row.engine, *cells, f"{row.volumes_per_second:.2f}", f"{row.peak_mb:,.0f}")
        peaks = [getattr(row, f"{stage}_peak_mb") for stage in STAGES]
        shown.add_row("", "", "peak MB", *("" if peak is None else f"{peak:,.0f}" for peak in peaks))
    if measured:
        _show(shown)
    for row in rows:
        if row.note:
            out.print(row.note, highlight=False)
    out.print(f"{out_file}")
    if len(measured) < len(rows):
        raise typer.Exit(3)


@bench.command("oddities")
def bench_oddities(
    model: Annotated[Path, typer.Option(help="An ensemble folder, as a workflow run leaves it.")],
    out_file: Annotated[Path, FileOut("--out", help="A TSV file for what was said of every volume.")],
    each: Annotated[int, typer.Option(min=1, help="Volumes of every kind.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, other volumes.")] = 1,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
) -> None:
    """Show an ensemble what has no region: air, noise, bottles of water, shuffled slices, bodies upside down; and bodies, to compare."""
    from fovnet.bench.oddities import COLUMNS, oddities, tally
    from fovnet.decision.ensemble import load
    from fovnet.records import write_tsv

    with _bar("judging") as tell:
        rows = list(oddities(load(model, device), each, seed, tell))
    write_tsv(out_file, COLUMNS, [vars(row) for row in rows])
    shown = _table(f"what {model} says", "volume", "of", "region, sure", "uncertain", "none, sure")
    for kind, *counts in tally(rows):
        shown.add_row(kind, *map(str, counts))
    _show(shown)
    out.print(f"{out_file}")


_JUDGED = [(f"{on}_{what}", on if what == "accuracy" else f"{on}_change", "" if what == "accuracy" else "+")
           for on in ("simulated", "labelled") for what in ("accuracy", "change")]  # fmt: skip


@bench.command("simulator")
def bench_simulator(
    out_file: Annotated[Path, FileOut("--out", help="A TSV file, a row an arm.")],
    collection: Annotated[Path | None, typer.Option(help="A labelled collection of real volumes to be judged on too.")] = None,
    arms: Annotated[list[str] | None, typer.Option("--arms", help='"all", "without NAME", "without everything"; may be repeated.')] = None,
    subjects: Annotated[int, typer.Option(min=8, help="Simulated people that each arm learns from.")] = 60,
    epochs: Annotated[int, typer.Option(min=1)] = 4,
    slices_per_epoch: Annotated[int, typer.Option(min=32)] = 4000,
    repeats: Annotated[int, typer.Option(min=1, help="Trainings of each arm, on other people and from other weights.")] = 1,
    scratch: Annotated[Path | None, typer.Option(help="Where volumes and networks are kept; else beside the table.")] = None,
    seed: Annotated[int, typer.Option(min=0)] = 1,
    workers: Workers = 1,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
) -> None:
    """Measure what each feature of the simulator is worth: train one small network without it.  Killed, the same command goes on."""
    from fovnet.bench.simulator import COLUMNS, Study, arms_of, studied
    from fovnet.evaluate.balanced import balanced, balanced_change
    from fovnet.phantom.features import known_features
    from fovnet.records import write_tsv

    study = Study(scratch or out_file.with_suffix(".scratch"), subjects, epochs, slices_per_epoch, seed, workers, device, repeats)
    rows = []
    with _bar("arms") as tell:
        for row in studied(study, arms_of(arms or [], known_features()), balanced, balanced_change, collection, tell):
            rows.append(row)
            write_tsv(out_file, COLUMNS, rows)
    shown = _table("balanced accuracy of slices, and its change from the first arm (95 % over subjects)", "arm", "simulated people",
                   "change", "labelled collection", "change")  # fmt: skip
    for row in rows:
        told = [f"{row[f'{on}']:{sign}.1%} ({row[f'{low}_low']:{sign}.1%} to {row[f'{low}_high']:{sign}.1%})"
                if row.get(f"{low}_low") is not None else "" for on, low, sign in _JUDGED]  # fmt: skip
        shown.add_row(row["arm"], *told)
    _show(shown)
    out.print(f"{out_file}")


@bench.command("engines")
def bench_engines(
    model: Annotated[Path, typer.Option(help="An ensemble folder, as a workflow run leaves it.")],
    out_file: Annotated[Path, FileOut("--out", help="A TSV file for the figures.")],
    slices: Annotated[Path | None, typer.Option(help="A folder of slices, as `fovnet slice` makes it: are its decisions the same?")] = None,
    batch: Annotated[list[int] | None, typer.Option("--batch", min=1, help="Slices at once; may be repeated. [32, 128]")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Turns of each engine; medians are told.")] = 7,
    most: Annotated[int, typer.Option(min=1, help="Volumes of the collection to decide on, evenly chosen.")] = 1000,
) -> None:
    """Measure the engines that are installed: loading, slices a second beside torch's, and whether they say the same."""
    from fovnet.bench.engines import COLUMNS, engine_times
    from fovnet.records import write_tsv
    from fovnet.volume.pack import load_pack

    with _bar("deciding") as tell:
        rows = engine_times(model, load_pack(slices) if slices else None, batch or [32, 128], repeats, most, tell)
    write_tsv(out_file, COLUMNS, rows)
    shown = _table(f"engines, {rows[0]['threads']} thread(s), median of {repeats}", "engine", "loading s", "batch", "slices / s", "/ torch",
                   "probabilities off", "features off", "decisions changed")  # fmt: skip
    for row in rows:
        changed = "" if row["volumes"] is None else f"{row['changed']} of {row['volumes']}"
        off = (f"{row[name]:.1e}" for name in ("probabilities_off", "features_off"))
        shown.add_row(f"{row['engine']} {row['version']}", f"{row['load_s']:.2f}", str(row["batch"]), f"{row['slices_per_second']:,.0f}",
                      f"{row['ratio']:.2f}", *off, changed)  # fmt: skip
    _show(shown)
    out.print(f"{out_file}")


@bench.command("mistrust")
def bench_mistrust(
    config: ConfigFile,
    out_file: Annotated[Path, FileOut("--out", help="A TSV file for the shares.")],
    split: Annotated[str, typer.Option(help="validation or test.")] = "test",
    seed: Annotated[int, typer.Option(min=0, help="Shuffles the slices.")] = 1,
) -> None:
    """Turn and shuffle the volumes of a split: how many are noticed, how many false alarms are there, how much air is named a region?"""
    from fovnet.bench.mistrust import COLUMNS, mistrusted
    from fovnet.records import write_tsv

    volumes, vocabulary, rule = _scored_split(config, split)
    with _bar("deciding") as tell:
        shares = mistrusted(volumes, vocabulary, rule, seed=seed, progress=tell)
    _show_shares(f"{len(volumes)} volumes of the {split} split", shares)
    out.print(f"{write_tsv(out_file, COLUMNS, [share.row for share in shares])}")


@bench.command("crop")
def bench_crop(
    config: ConfigFile,
    out_file: Annotated[Path, FileOut("--out", help="A TSV file for the shares.")],
    split: Annotated[str, typer.Option(help="validation or test.")] = "test",
    seed: Annotated[int, typer.Option(min=0, help="Draws the windows.")] = 1,
) -> None:
    """Cut parts off the volumes of a split: how many of the borders left move at most one slice, farther, or are lost?"""
    from fovnet.bench.cropping import cropped
    from fovnet.bench.mistrust import COLUMNS
    from fovnet.records import write_tsv

    volumes, vocabulary, rule = _scored_split(config, split)
    with _bar("deciding") as tell:
        shares = cropped(volumes, vocabulary, rule, seed=seed, progress=tell)
    _show_shares(f"{len(volumes)} volumes of the {split} split, parts of them cut away", shares)
    out.print(f"{write_tsv(out_file, COLUMNS, [share.row for share in shares])}")


@bench.command("decide")
def bench_decide(
    out_file: Annotated[Path, FileOut("--out", help="A TSV file for the times.")],
    slices: Annotated[list[int] | None, typer.Option("--slices", min=2, help="Slices of a body; may be repeated. [200, 600, 2000]")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Turns of each way; medians are told.")] = 5,
    seed: Annotated[int, typer.Option(help="Of the noise.")] = 0,
) -> None:
    """Measure deciding: milliseconds a volume beside the same recursions as textbooks write them."""
    from fovnet.bench.deciding import COLUMNS, deciding_times
    from fovnet.records import write_tsv

    rows = list(deciding_times(slices or [200, 600, 2000], repeats, seed))
    write_tsv(out_file, COLUMNS, [{**vars(row), "ratio": row.ratio} for row in rows])
    shown = _table(f"deciding, one thread, median of {repeats}", "slices", "body", "heights", "ms", "textbook", "textbook / ms")
    for row in rows:
        shown.add_row(f"{row.slices:,}", row.body, "known" if row.known else "", f"{row.ours_ms:,.1f}", f"{row.textbook_ms:,.0f}",
                      f"{row.ratio:,.0f}")
    _show(shown)
    out.print(f"{out_file}")


@bench.command("intervals")
def bench_intervals(
    out_file: Annotated[Path, FileOut("--out", help="A TSV file: how often each kind of interval held the truth.")],
    subjects: Annotated[list[int] | None, typer.Option("--subjects", min=5, help="Bodies in a study; may be repeated.")] = None,
    studies: Annotated[int, typer.Option(min=20, help="Simulated studies of each size.")] = 1000,
    correlation: Annotated[float, typer.Option(min=0.01, max=0.9, help="Of two slices of one body being wrong.")] = 0.2,
    bootstrap: Annotated[int, typer.Option(min=100)] = 1000,
    seed: Annotated[int, typer.Option(min=0)] = 1,
) -> None:
    """Simulate studies whose truth is known: how often do 95 % intervals hold it, when the slices of one body are alike?"""
    from dataclasses import asdict, fields

    from fovnet.bench.coverage import Coverage, coverage
    from fovnet.records import write_tsv

    with _bar("simulating") as tell:
        rows = list(coverage(subjects or [20, 30, 50, 100], studies=studies, correlation=correlation, repeats=bootstrap, seed=seed,
                             progress=tell))  # fmt: skip
    shown = _table(f"share of {studies} studies whose 95 % interval holds the truth; * as the evaluation makes it",
                   "statistic", "bodies", "interval", "held", "", "median width")  # fmt: skip
    for row in rows:
        held = (f"{row.share:.1%}", f"({row.low:.1%} to {row.high:.1%})")
        shown.add_row(row.statistic, str(row.subjects), f"{row.method}{' *' if row.used else ''}", *held, f"{row.width:.3g}")
    _show(shown)
    out.print(f"{write_tsv(out_file, [field.name for field in fields(Coverage)], [asdict(row) for row in rows])}")


@bench.command("accuracy")
def bench_accuracy(
    pack: Annotated[Path, typer.Argument(help="A folder of labelled slices, as `fovnet slice` makes it.")],
    out_file: Annotated[Path, FileOut("--out", help="A TSV file for the losses of every training.")],
    device: Annotated[str, typer.Option(help="auto, cpu or cuda; the plain loop runs there too.")] = "auto",
    seeds: Annotated[int, typer.Option(min=2, help="Trainings of each configuration in each way, from the same weights.")] = 5,
    epochs: Annotated[int, typer.Option(min=1)] = 3,
    slices_per_epoch: Annotated[int, typer.Option(min=64)] = 800,
    validation_slices: Annotated[int, typer.Option(min=32)] = 400,
) -> None:
    """Show that speed costs no accuracy: validation losses beside those of a plain float32 loop that augments slice by slice."""
    from fovnet.bench.plain import Budget, compare, pairs_of
    from fovnet.records import write_tsv
    from fovnet.volume.pack import load_pack

    slices = load_pack(pack)
    budget = Budget(epochs, slices_per_epoch, validation_slices)
    targets = (slices.truth / slices.truth.sum(axis=1, keepdims=True).clip(1)).astype("float32")
    train, validation = slices.rows("train"), slices.rows("validation")
    with _bar("training") as tell:
        pairs = pairs_of(slices.pixels, targets, train, validation, device, seeds, budget, tell)
    write_tsv(out_file, list(vars(pairs[0])), [vars(pair) for pair in pairs])
    shown = _table(f"lowest validation loss, mean ± standard error of {seeds} seeds", "configuration", "fovnet", "plain loop", "difference")
    for row in compare(pairs):
        shown.add_row(row.name, *(f"{mean:.3f} ± {error:.3f}" for mean, error in (row.fast, row.plain, row.difference)))
    _show(shown)
    out.print(f"{out_file}")


def main() -> None:
    """Run the command line; expected failures are a sentence and status 2, bugs a log file, an apology and status 1."""
    try:
        app()
    except FovnetError as error:
        err.print("[bold red]error[/] ", end="")
        err.print(str(error), markup=False, highlight=False)
        sys.exit(2)
    except OSError as fault:
        if not fault.filename:
            raise
        err.print("[bold red]error[/] ", end="")
        full = fault.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        wanted = "make room and give the same command again [disk-full]" if full else "give a path that can be read and written [file]"
        err.print(f"{fault.filename}: {fault.strerror}; {wanted}", markup=False, highlight=False)
        sys.exit(2)
    except KeyboardInterrupt:
        err.print("stopped; the same command goes on from here")
        sys.exit(130)
    except Exception:
        with tempfile.NamedTemporaryFile("w", prefix="fovnet-", suffix=".log", delete=False) as log:
            log.write(f"fovnet {__version__}: {' '.join(sys.argv)}\n{traceback.format_exc()}")
        err.print("[bold red]bug[/] Sorry: fovnet met something it was not written for.")
        err.print(f"The traceback is in {log.name}; please report it.")
        sys.exit(1)


def _show_standings(folder: Path, tables: Mapping[Path, Any], results: list[Any]) -> None:
    """standings.tsv, runs.tsv and standings.png, and on the terminal how many draws each method needed."""
    from fovnet.bench.races import GOALS
    from fovnet.report.racing import label
    from fovnet.report.standings import write_standings

    views = write_standings(folder, tables, results)
    for view in views:
        title = f"{view.name}: draws until the best row, and mean draws until the good ones"
        shown = _table(title)
        shown.add_column("method", overflow="fold")
        for heading in ("best", "worst", "missed", *GOALS[1:]):
            shown.add_column(heading.replace(" ", "\n", 1), justify="right", no_wrap=True)
        for first in range(0, len(view.standings), len(GOALS)):
            best, *others = view.standings[first : first + len(GOALS)]
            spread, missed = f"{best.mean:.1f}±{best.sd:.0f}", f"{best.misses}/{best.runs}"
            shown.add_row(label(best), spread, f"{best.worst}", missed, *(f"{row.mean:.1f}" for row in others))
        exact = [f"{row.chance:.1f}" for row in view.standings[: len(GOALS)]]
        shown.add_row("random, exact", exact[0], "", "", *exact[1:])
        _show(shown)
    out.print(f"{folder}: standings.tsv, runs.tsv, standings.png")


def _table(title: str, *headings: str) -> Table:
    return Table(*headings, title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))


def _show(table: Table) -> None:
    """Where nobody's window is too small, as wide as it is."""
    (out if out.is_terminal else Console(width=120, markup=False)).print(table)


def _scored_split(config: Path, split: str) -> tuple[list[LabelledVolume], Vocabulary, Rule]:
    """The labelled volumes of a split with what the ensemble says of them, and what decides on them.

    Raises ConfigError "split-not-scored".
    """
    from fovnet.bench.mistrust import Labelled
    from fovnet.decision.ensemble import read_rule
    from fovnet.decision.packed import SCORED, examples, shown_volumes

    if split not in SCORED:
        known = " and the ".join(SCORED)
        raise ConfigError("split-not-scored", f"--split {split}: the ensemble scores the {known} split alone; name one of these")
    settings = _settings(config)
    results, pack = configured.opened(settings)
    scored = _scored(results)
    pairs = zip(examples(pack, scored, split), shown_volumes(pack, scored, split), strict=True)
    volumes = [Labelled(one.probabilities, one.z_mm, one.truth, seen.pixels) for one, seen in pairs]
    return volumes, configured.vocabulary_of(settings), read_rule(results.ensemble)


def _show_shares(title: str, shares: Sequence[Share]) -> None:
    """Counts, and shares with their intervals."""
    shown = _table(title, "", "count", "of", "share (95 %)")
    for row in (share.row for share in shares):
        told = f"{row['share']:.1%} ({row['low']:.1%} to {row['high']:.1%})" if row["of"] else ""
        shown.add_row(row["what"], f"{row['count']:,}", f"{row['of']:,}", told)
    _show(shown)


def _settings(config: Path) -> Settings:
    from fovnet.config import load
    from fovnet.phantom.features import left_out

    settings = load(config)
    left_out(settings.phantom.without)
    return settings


def _calibrated(settings: Settings) -> Calibration:
    """The device as a short run finds it, with networks of the configured space."""
    from fovnet.net.calibration import LARGEST_BYTES, calibrate, candidates
    from fovnet.net.columns import columns_of_space
    from fovnet.net.probing import device_name

    classes, training = len(configured.vocabulary_of(settings).classes), settings.training
    rows = candidates(columns_of_space(configured.space_of(settings), classes=classes, head=training.head, inputs=training.inputs))
    bench = configured.bench_of(settings)
    with _bar("timing") as tell:
        return calibrate(
            rows, bench.probe, device_name(bench.device), now=bench.now, progress=tell,
            largest_bytes=min(LARGEST_BYTES, settings.search.memory_limit_gb * 1e9),
        )  # fmt: skip


def _check_predictions(settings: Settings, known: Calibration, count: int, path: Path) -> None:
    """Held-out networks trained for a moment: how many predictions were near enough, and a TSV of all."""
    from fovnet.maths.intervals import wilson_interval
    from fovnet.net.calibration import candidates
    from fovnet.net.columns import columns_of_space
    from fovnet.net.heldout import WITHIN, HeldOut, held_out, measured
    from fovnet.records import write_tsv

    classes, training = len(configured.vocabulary_of(settings).classes), settings.training
    rows = columns_of_space(configured.space_of(settings), classes=classes, head=training.head, inputs=training.inputs)
    chosen = held_out(candidates(rows), known, count, settings.seed)
    bench, found = configured.bench_of(settings), []
    with _bar("checking") as tell:
        for one in measured(chosen, known, bench, bench.peak_bytes):
            found.append(one)
            write_tsv(path, list(HeldOut.__dataclass_fields__), [vars(each) for each in found])      # a network takes minutes: none is lost
            tell(len(found), len(chosen))
    for what, limit in WITHIN.items():
        near = [told for one in found if (told := one.is_within(what)) is not None]
        if not near:
            out.print(f"{what}: cannot be measured here", highlight=False)
            continue
        low, high = wilson_interval(sum(near), len(near))
        out.print(f"{what}: {sum(near)}/{len(near)} within {limit:.0%} of what was measured ({low:.0%}-{high:.0%})", highlight=False)
    out.print(f"{path}")


def _draw_training(training: Training, outcome: Outcome) -> None:
    """curve.png, beside the record."""
    from fovnet.report.canvas import save_png
    from fovnet.report.learning import learning_figure
    from fovnet.report.wording import settings as described

    ending = f"{outcome.status.replace('_', ' ')} after {len(outcome.validation_loss)} epochs, {outcome.seconds:.0f} s on {outcome.device}"
    figure = learning_figure(outcome.training_loss, outcome.validation_loss, training.guess, described(training.configuration), ending)
    save_png(figure, training.folder / "curve.png")


def _conclude(settings: Settings, results: Results, journal: Path, trials: list[Trial]) -> None:
    """Say what a search came to, once later acts can find it."""
    from fovnet.errors import SearchError
    from fovnet.records import write_json

    facts = {"journal": journal.name}
    write_json(results.search / "current.json", facts, settings=settings.search.model_dump(), seed=settings.seed)
    _write_trials(results.trials, trials)
    scores = [trial.score for trial in trials if trial.score is not None]
    if not scores:
        why = trials[0].outcome.message or trials[0].outcome.status
        raise SearchError("search-without-score", f"{results.trials}: none of {len(trials)} trials ended with a score; the first: {why}")
    first, best = trials[0].score, min(scores)
    losses = f"validation loss {_number(first)} at the start, {_number(best)} at best"
    out.print(f"{len(trials)} trials, {len(scores)} with a score; {losses}: {results.trials}")


def _write_trials(path: Path, trials: list[Any]) -> None:
    """trials.tsv: one row a trial, the axes of its configuration as columns."""
    from fovnet.records import write_tsv

    rows = [
        {
            "slot": trial.proposal.slot, "status": trial.outcome.status, "score": _number(trial.score),
            **trial.proposal.configuration,
            "epochs": len(trial.outcome.validation_loss), "seconds": trial.outcome.seconds,
            "predicted_seconds": trial.proposal.predicted_seconds, "device": trial.outcome.device, "message": trial.outcome.message,
        }
        for trial in trials
    ]  # fmt: skip
    write_tsv(path, list(rows[0]), rows)


def _number(score: float | None) -> str:
    return "" if score is None else f"{score:.4f}"


def _scored(results: Results) -> Any:
    from fovnet.decision.packed import Scored

    return Scored.read(_scored_arrays(results))


def _scored_arrays(results: Results) -> dict[str, Any]:
    """What the ensemble said of the validation and test slices."""
    from fovnet.errors import ModelError
    from fovnet.records import read_npz

    try:
        return read_npz(results.probabilities)
    except (OSError, ValueError):
        raise ModelError("probabilities-missing", f"{results.probabilities}: missing or unreadable; `fovnet ensemble` makes it") from None


def _plain(measure: str, value: float | None) -> str:
    """A measure as the terminal shows it: millimetres, else per cent."""
    return "" if value is None else f"{value:.1f} mm" if measure.endswith("_mm") and "within" not in measure else f"{value:.1%}"


def _measured(one: Measure | None) -> str:
    """A measure, what it rests on, and its interval where it has one."""
    if one is None or one.value is None:
        return ""
    told = f"{_plain(one.name, one.value)} of {one.denominator:,}"
    return told if one.low is None else f"{told} ({_plain(one.name, one.low)} to {_plain(one.name, one.high)})"


def _gain(one: Difference | None) -> str:
    """A difference and its interval, in points or millimetres."""
    if one is None:
        return ""
    if one.low is None or one.high is None:
        return one.interval
    scale, unit = (1.0, " mm") if one.measure.endswith("_mm") and "within" not in one.measure else (100.0, "")
    return f"{one.difference * scale:+.1f} ({one.low * scale:+.1f} to {one.high * scale:+.1f}){unit}"


def _included(kinds: str) -> list[str]:
    """The kinds of DICOM series named in `--include`.  Raises ConfigError for one that there is not."""
    from fovnet.volume.dicom_triage import INCLUDABLE

    named = [kind.strip() for kind in kinds.split(",") if kind.strip()]
    unknown = [kind for kind in named if kind not in INCLUDABLE]
    if unknown:
        raise ConfigError("include-unknown", f"--include {unknown[0]}: no such kind of series; the kinds are {', '.join(INCLUDABLE)}")
    return named


def _write_found(folder: Path, series: list[dict[str, Any]], included: list[str], show_ids: bool) -> None:
    """found.tsv and found.json: every DICOM series that was seen, and why some are not read; nothing where there is no DICOM."""
    from fovnet.records import write_json, write_tsv
    from fovnet.report.wording import several
    from fovnet.volume.dicom_table import COLUMNS, ID_COLUMNS

    if not series:
        return
    write_tsv(folder / "found.tsv", (*COLUMNS, *(ID_COLUMNS if show_ids else ())), series)
    write_json(folder / "found.json", {"series": series})
    unread = sum(row["kind"] == "unreadable" for row in series)
    aside = Counter(row["kind"] for row in series if row["kind"] not in ("volume", "unreadable", *included))
    counted = ", ".join(f"{count} {kind}" for kind, count in sorted(aside.items()))
    told = (f", of them set aside: {counted}" if aside else "") + (f"; {several(unread, 'object')} could not be read" if unread else "")
    out.print(f"{len(series) - unread} DICOM series found{told}: {folder / 'found.tsv'}", highlight=False)


def _write_spans(folder: Path, rows: list[dict[str, Any]]) -> None:
    """spans.tsv, and the same on the screen where there is somebody to read it."""
    from fovnet.decision.answer import COLUMNS
    from fovnet.records import write_tsv

    write_tsv(folder / "spans.tsv", COLUMNS, rows, keep_same=True)
    table = Table("volume", "status", "region", "from mm", "to mm", "confidence", "message")
    for row in rows[:200]:
        numbers = ["" if row.get(key) is None else f"{row[key]:.0f}" for key in ("from_mm", "to_mm")]
        sure = "" if row.get("confidence") is None else f"{row['confidence']:.2f}"
        table.add_row(row["volume_id"], row["status"], row.get("region") or "", *numbers, sure, row["message"][:90])
    if os.isatty(1):
        out.print(table)


@contextmanager
def _bar(what: str, unit: str = "") -> Iterator[Callable[[int, int], None]]:
    """A progress bar on a terminal; in a log, a line at every tenth of the way.  With a unit also how many a second, and in a log a
    line every minute: a tenth of an archive is hours."""
    pace = Pace(unit)
    if not err.is_terminal:
        yield _tenths(what, pace)
        return
    rate = TextColumn("{task.description}")
    columns = (SpinnerColumn(), TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(), rate)
    with Progress(*columns, console=err) as progress:
        task = progress.add_task("", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total, description=pace.told(done, total).partition(", ")[0])


@contextmanager
def _epochs(slices_per_epoch: int) -> Iterator[Callable[[TrainingProgress, int], None]]:
    """A bar of epochs with losses, slices a second and time left on a terminal; in a log, a line an epoch."""
    def said(training: TrainingProgress, epochs: int) -> str:
        done = len(training.validation_loss)
        each = training.seconds / done
        losses = f"loss {training.training_loss[-1]:.3f}, validation {training.validation_loss[-1]:.3f}"
        return f"{losses}, {slices_per_epoch / each:,.0f} slices/s, {each * (epochs - done):,.0f} s left"

    if not err.is_terminal:
        yield lambda done, epochs: err.print(f"epoch {len(done.validation_loss)} of {epochs}: {said(done, epochs)}", highlight=False)
        return
    what = TextColumn("{task.description}")
    columns = (SpinnerColumn(), TextColumn("epochs"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), what)
    with Progress(*columns, console=err) as progress:
        task = progress.add_task("", total=None)
        yield lambda done, epochs: progress.update(
            task, completed=len(done.validation_loss), total=epochs, description=said(done, epochs)
        )


def _tenths(what: str, pace: Pace) -> Callable[[int, int], None]:
    tenth_told = -1

    def tell(done: int, total: int) -> None:
        nonlocal tenth_told
        tenth, said = 10 * done // max(total, 1), pace.told(done, total)
        if tenth > tenth_told or pace.minute_passed():
            tenth_told = tenth
            err.print(f"{what}: {done} of {total}{said and ', '}{said}", highlight=False)

    return tell
