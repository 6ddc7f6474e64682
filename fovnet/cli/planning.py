"""Checks before a run: whether a configuration is valid, and the predicted cost of its networks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fovnet.acts.opening import opened
from fovnet.cli.options import ConfigFile, GivenBy, file_out
from fovnet.cli.screen import err, out, progress_bar, show_table, titled
from fovnet.errors import ConfigError
from fovnet.net.jobs.run import journal_of_same_training
from fovnet.net.jobs.search_plan import (
    count_fitting,
    probing_bench,
    search_prices,
    search_prior,
    search_space,
    start_configuration,
    timings_of_same_training,
)
from fovnet.net.training.warm_start import warm_start_ensemble
from fovnet.records import header_of
from fovnet.results import Results
from fovnet.words import several
from fovnet.workflow import lesson_files, prior_files

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fovnet.config.models import Settings
    from fovnet.net.cost.calibration import Calibration
    from fovnet.regions import Vocabulary
    from fovnet.search.space import Space
    from fovnet.volume.collection.tables import Collection

verbs = typer.Typer()


@verbs.command()
def check(config: ConfigFile) -> None:
    """Check a configuration: whether it is valid, what it will do, and what its collections lack; status 3 if
    they lack something."""
    from fovnet.volume.collection.tables import refuse_shared_names

    run = opened(config)
    settings, words = run.settings, run.vocabulary
    space = search_space(settings)
    row = space.row_of(start_configuration(settings))
    fit, taught = count_fitting(settings), _taught(settings, space)
    folders = {name: Path(folder) for name, folder in settings.collections.items()}
    tables = {name: _table_of(config, name, folder, words) for name, folder in folders.items()}
    lacking = [
        f"collection {name}: {folders[name] / 'volumes.tsv'} does not exist yet"
        for name, table in tables.items()
        if table is None
    ]
    there = {name: table for name, table in tables.items() if table}
    refuse_shared_names(there)
    lacking += _lacking_in_tables(settings, there, words) + _lacking_in_simulated(settings, words)
    every = ", all of which will be tried" if fit <= settings.search.trials else ""
    out.print(
        f"{config}: {'valid, but see below' if lacking else 'valid'}.  {len(space):,} configurations, "
        f"{fit:,} within the limits{every}, starting at row {row:,}; classes {', '.join(words.classes)}; "
        f"results in {settings.results}"
    )
    if begun := warm_start_ensemble(settings):
        out.print(_begun(settings, *begun))
    if taught:
        out.print(taught)
    for name, table in there.items():
        out.print(f"collection {name}: {_counted(table)}")
    if settings.phantom.subjects:
        out.print(_simulated(settings, beside=bool(tables)))
    _show_label_gaps(settings, there, words)
    _show_too_few_subjects(settings, there)
    for sentence in lacking:
        err.print(sentence)
    if lacking:
        raise typer.Exit(3)


def _lacking_in_tables(
    settings: Settings, there: Mapping[str, Collection], words: Vocabulary
) -> list[str]:
    """A sentence for each thing that the collections lack: files, people in a split, labels."""
    from fovnet.volume.collection.preflight import between_labelled, empty_splits, missing_files

    lacking = missing_files(there)
    # simulated subjects fill every split, with labels of every region
    if there and not settings.phantom.subjects:
        lacking += empty_splits(there, seed=settings.seed, fractions=settings.prepare.split)
        lacking += between_labelled(there, words)
    return lacking


def _lacking_in_simulated(settings: Settings, words: Vocabulary) -> list[str]:
    """A sentence for each thing that the simulated people lack, if there are any: a split, a name for their
    labels."""
    from fovnet.regions import DEFAULT
    from fovnet.volume.collection.split import shares

    subjects, lacking = settings.phantom.subjects, []
    if not subjects:
        return []
    if 0 in shares(subjects, fractions=settings.prepare.split):
        lacking.append(f"phantom.subjects: {subjects} leave a split empty; give at least 8")
    if strange := [name for name in DEFAULT.classes if name not in words.classes]:
        lacking.append(
            f"phantom.subjects: simulated people are labelled {', '.join(strange)} too, which "
            f"{settings.regions} does not have; subjects: 0 leaves them out"
        )
    return lacking


def _show_label_gaps(
    settings: Settings, there: Mapping[str, Collection], words: Vocabulary
) -> None:
    """Prints gaps in the labels: regions without any, or none in a split, and missing rows between two
    regions, perhaps typing errors."""
    from fovnet.volume.collection.preflight import between, gaps, is_inner, unlabelled, unlearned

    notes, away = (
        [],
        [name for name in unlabelled(there, words) if name not in between(there, words)],
    )
    # simulated subjects fill every split, with labels of every region
    if there and not settings.phantom.subjects:
        inner = [name for name in away if is_inner(there, words, name)]
        outer = [name for name in away if name not in inner]
        notes += (
            [
                f"no volume is labelled with {', '.join(outer)}: it is never learned and never predicted"
            ]
            if outer
            else []
        )
        notes += (
            [
                f"no volume is labelled with {', '.join(inner)}: it is never learned, but still predicted, "
                "for about one slice, in a volume that shows the regions below and above it"
            ]
            if inner
            else []
        )
        notes += unlearned(there, words, seed=settings.seed, fractions=settings.prepare.split)
    if found := gaps(there, words):
        volume_id, below, above, first, last = found[0]
        notes.append(
            f"{several(len(found), 'stretch', 'stretches')} without a row between two regions, the first "
            f"{first:g} to {last:g} in {volume_id}, between {below} and {above}: these count as none, which "
            "is never decided between regions; is a row missing?"
        )
    for sentence in notes:
        out.print(sentence)


def _show_too_few_subjects(settings: Settings, tables: Mapping[str, Collection]) -> None:
    """Prints a warning if the validation split has too few subjects to guarantee the stated error at all."""
    from fovnet.decision.confidence_bar import fewest_people
    from fovnet.volume.collection.preflight import people
    from fovnet.volume.collection.split import shares

    split, stated = settings.prepare.split, settings.decision.stated_error
    simulated = (
        shares(settings.phantom.subjects, fractions=split)[1] if settings.phantom.subjects else 0
    )
    validating = people(tables, seed=settings.seed, fractions=split)["validation"] + simulated
    wanted = fewest_people(stated, settings.decision.at_risk)
    if 0 < validating < wanted:
        out.print(
            f"{several(validating, 'validation subject')}: too few to promise that at most {stated:.3g} of "
            f"the slices are wrong in sure answers ({wanted} are needed); the bar will only keep the error "
            "on these subjects within that"
        )


def _begun(settings: Settings, folder: Path, facts: Mapping[str, Any]) -> str:
    """A sentence on the ensemble whose networks are trained further, with both slice spacings if they
    differ."""
    known, here = facts["prepare"]["target_spacing_mm"], settings.prepare.target_spacing_mm
    sentence = f"{len(facts['members'])} networks of {folder} are trained further"
    return (
        sentence
        if known == here
        else (
            f"{sentence}; they know slices {known:g} mm apart, here {here:g} mm: "
            f"prepare.target_spacing_mm: {known:g} matches their training"
        )
    )


def _taught(settings: Settings, space: Space) -> str:
    """A sentence on the earlier searches that this one begins with; empty without.  Raises ConfigError as
    `prior_files` and `lesson_files`, SearchError as `read_prior`."""
    files, lessons = prior_files(settings), lesson_files(settings)
    prior = search_prior(settings, space) if files and Path(files[0]).exists() else None
    if prior is None:
        return (
            "search.learn_from: `fovnet search learn` will learn from "
            f"{', '.join(settings.search.learn_from)}"
            if lessons
            else ""
        )
    rows = ", ".join(
        f"{one.name} ({several(one.scored, 'configuration')})" for one in prior.sources
    )
    return f"the search begins with a prior from earlier searches, {files[0]}: {rows}"


def _table_of(config: Path, name: str, folder: Path, words: Vocabulary) -> Collection | None:
    """A collection's tables; None if there are none yet.  Raises CollectionError with every fault in them,
    ConfigError for a folder that does not exist."""
    from fovnet.volume.collection.tables import nearest_name, read_collection

    if not folder.exists():
        near = nearest_name(folder, folder=True)
        wanted = near or f"name the folder of your collection in {config}"
        raise ConfigError(
            "collection-missing",
            f"{config}: collections.{name}: {folder}: no such folder; {wanted}",
        )
    return (
        None
        if folder.is_dir() and not (folder / "volumes.tsv").exists()
        else read_collection(folder, words)
    )


def _simulated(settings: Settings, *, beside: bool) -> str:
    """How many subjects a run simulates; `beside` collections also that it trains on both, and the setting
    that prevents this."""
    people = several(settings.phantom.subjects, "simulated subject")
    sentence = f"phantom: {people}, {settings.phantom.volumes_per_subject} volumes each"
    return (
        f"{sentence}, which are trained on together with the collections; phantom.subjects: 0 leaves them out"
        if beside
        else sentence
    )


def _counted(table: Collection) -> str:
    subjects = len({row.subject_id for row in table.volumes})
    return (
        f"{several(len(table.volumes), 'volume')} of {several(subjects, 'subject')}, {len(table.regions):,} "
        "labelled"
    )


def _is_of_prices(path: Path) -> bool:
    from fovnet.net.cost.prices import is_table

    return is_table(header_of(path))


@verbs.command()
def cost(
    config: ConfigFile,
    out_file: Annotated[
        Path | None,
        file_out(_is_of_prices, "A TSV file: weights, operations, memory, seconds of every row."),
    ] = None,
) -> None:
    """Predict the cost of every configuration of the space before any is trained: weights, operations,
    memory, seconds."""
    from fovnet.net.cost.prices import quantiles, search_seconds, table
    from fovnet.records import write_tsv
    from fovnet.report.content.wording import duration

    settings = opened(config).settings
    priced = search_prices(settings)
    if out_file is not None:
        write_tsv(out_file, *table(priced))
    options, rows = settings.search, len(priced.space)
    limits = [f"{priced.small.sum():,} need no more than {options.memory_limit_gb:g} GB"]
    if options.seconds_limit is not None:
        limits.append(
            f"{priced.short.sum():,} take no longer than {duration(options.seconds_limit)}"
        )
    out.print(f"{rows:,} configurations: {', '.join(limits)}; {priced.fits.sum():,} fit.")
    priced.refuse_where_nothing_fits()
    shown = titled("of those that fit", "", "least", "a quarter", "half", "three quarters", "most")
    for name, values in quantiles(priced).items():
        shown.add_row(
            name, *(f"{value:,.3g}" if value < 1000 else f"{value:,.0f}" for value in values)
        )
    show_table(shown)
    start = priced.space.row_of(start_configuration(settings))
    figures = (
        f"{priced.cost.weights[start]:,.0f} weights, {priced.cost.forward_flop[start] / 1e6:,.0f} million "
        f"operations per slice, {priced.memory[start] / 1e6:,.0f} MB, "
        f"{duration(float(priced.seconds[start]))}"
    )
    out.print(
        f"The start, row {start:,}: {figures}{'' if priced.fits[start] else '; it does not fit'}."
    )
    whole = duration(search_seconds(priced, options.trials, options.workers))
    out.print(
        f"{options.trials} trials, {options.workers} at a time: about {whole}, if they are a fair sample of "
        "those that fit."
    )
    if out_file is not None:
        out.print(f"{out_file}")


@verbs.command()
def calibrate(
    config: ConfigFile,
    again: Annotated[
        bool, typer.Option("--again", help="Measure again, even if there is a calibration.")
    ] = False,
    trials_of: Annotated[
        Path | None,
        GivenBy(
            "--from",
            help="A results folder whose finished trials, with the same training, are used in the fit.",
        ),
    ] = None,
    check: Annotated[
        int,
        typer.Option(
            min=0, help="Train this many other networks briefly, and compare with the predictions."
        ),
    ] = 0,
    side: Annotated[
        int,
        typer.Option(min=1, help="Side of the slices in pixels; 32 if only for `bench table`."),
    ] = 128,
) -> None:
    """Measure the device for the cost model, in about a minute: calibration.json in the results folder; an
    existing one is kept."""
    from dataclasses import asdict

    from fovnet.net.cost.calibration import read_calibration, with_trials, write_calibration

    settings = opened(config).settings
    path = Results(Path(settings.results)).calibration
    if trials_of is not None:
        # raises, before a minute of measuring, if there is no such search
        journal_of_same_training(settings, trials_of)
    provenance: dict[str, Any] = {"settings": settings.training.model_dump(), "seed": settings.seed}
    if again or not path.exists():
        write_calibration(path, _calibrated(settings, side), **provenance)
    elif trials_of is None:
        out.print(
            "existing calibration kept, because its predictions order the clock of a search; --again "
            "measures again"
        )
    if settings.search.speed != "measure":
        out.print(
            "the search uses the numbers given in search.speed; set `speed: measure` to use these "
            "measurements"
        )
    known = read_calibration(path)
    if trials_of is not None:
        known = with_trials(known, timings_of_same_training(settings, trials_of, known.name))
        write_calibration(path, known, **provenance)
    numbers = ", ".join(
        f"{name.replace('_', ' ')} {value:.4g}" for name, value in asdict(known.device).items()
    )
    near = (abs(known.misfits - 1) <= 0.25).sum()
    fitted = f"{len(known.probes)} networks and {known.trials} trials fitted, {near} of the networks within 25 %"
    out.print(f"{known.name}: {numbers}; {fitted}: {path}")
    if check:
        _check_predictions(settings, known, check, path.with_name("calibration-check.tsv"))


def _calibrated(settings: Settings, side: int) -> Calibration:
    """The calibration of the device, from short trainings of networks of the configured space."""
    from fovnet.config.regions import vocabulary
    from fovnet.net.cost.calibration import LARGEST_BYTES, calibrate, candidates
    from fovnet.net.cost.columns import columns_of_space
    from fovnet.net.training.train import device_name

    classes, training = len(vocabulary(settings.regions).classes), settings.training
    space = search_space(settings)
    rows = candidates(
        columns_of_space(
            space, classes=classes, head=training.head, inputs=training.inputs, side=side
        )
    )
    bench = probing_bench(settings, side)
    with progress_bar("timing") as advance:
        return calibrate(
            rows,
            bench.probe,
            device_name(bench.device),
            now=bench.now,
            progress=advance,
            largest_bytes=min(LARGEST_BYTES, settings.search.memory_limit_gb * 1e9),
        )


def _check_predictions(settings: Settings, known: Calibration, count: int, path: Path) -> None:
    """Briefly trains held-out networks; prints how many predictions were within tolerance, and writes a TSV
    of all."""
    from fovnet.config.regions import vocabulary
    from fovnet.maths.intervals import wilson_interval
    from fovnet.net.cost.calibration import candidates
    from fovnet.net.cost.calibration_check import WITHIN, HeldOut, held_out, measured
    from fovnet.net.cost.columns import columns_of_space
    from fovnet.records import write_tsv

    classes, training = len(vocabulary(settings.regions).classes), settings.training
    rows = columns_of_space(
        search_space(settings), classes=classes, head=training.head, inputs=training.inputs
    )
    chosen = held_out(candidates(rows), known, count, settings.seed)
    bench, found = probing_bench(settings), []
    with progress_bar("checking") as advance:
        for one in measured(chosen, known, bench, bench.peak_bytes):
            found.append(one)
            # after each: one takes minutes
            write_tsv(path, list(HeldOut.__dataclass_fields__), [vars(each) for each in found])
            advance(len(found), len(chosen))
    for what, limit in WITHIN.items():
        near = [near_enough for one in found if (near_enough := one.is_within(what)) is not None]
        if not near:
            out.print(f"{what}: cannot be measured here")
            continue
        low, high = wilson_interval(sum(near), len(near))
        out.print(
            f"{what}: {sum(near)}/{len(near)} within {limit:.0%} of the measurement ({low:.0%}-{high:.0%})"
        )
    out.print(f"{path}")
