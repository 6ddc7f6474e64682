"""`fovnet calibrate`: the measurement of the device behind predicted costs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from fovnet.acts.finished_search import journal_of_same_training
from fovnet.acts.pricing import make_probe_bench, timings_of_same_training
from fovnet.acts.search_space import search_space
from fovnet.acts.settings import read_settings, refuse_unwritable_results
from fovnet.cli.options import ConfigFile, PathOption
from fovnet.cli.screen import out, progress_bar
from fovnet.config.models import Settings
from fovnet.config.regions import vocabulary
from fovnet.maths.intervals import wilson_interval
from fovnet.net.cost.calibration import (
    LARGEST_PROBE_BYTES,
    Calibration,
    probe_candidates,
    read_calibration,
    refit_with_trials,
    write_calibration,
)
from fovnet.net.cost.calibration import calibrate as calibrate_device
from fovnet.net.cost.calibration_check import (
    TOLERANCE_BY_QUANTITY,
    HeldOutNetwork,
    choose_held_out,
    measure_held_out,
)
from fovnet.net.cost.columns import Columns, columns_of_space
from fovnet.net.device import device_name
from fovnet.records import write_tsv
from fovnet.results import Results
from fovnet.search.space import paper_space

verbs = typer.Typer()
SIDE_PIXELS = 128  # of the slices
SMALL_MISFIT = 0.25  # of predicted over measured seconds: 25 %


@verbs.command()
def calibrate(
    config: ConfigFile,
    again: Annotated[
        bool, typer.Option("--again", help="Measure again, even if there is a calibration.")
    ] = False,
    trials_of: Annotated[
        Path | None,
        PathOption(
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
    ] = SIDE_PIXELS,
) -> None:
    """Measure the device for the cost model, in about a minute: calibration.json in the results folder; an
    existing one is kept."""
    settings = read_settings(config)
    refuse_unwritable_results(settings, config)
    calibration_file = Results(Path(settings.results)).calibration
    if trials_of is not None:
        # raises, before a minute of measuring, if there is no such search
        journal_of_same_training(settings, trials_of)
    settings_and_seed: dict[str, Any] = {
        "settings": settings.training.model_dump(),
        "seed": settings.seed,
    }
    if again or not calibration_file.exists():
        write_calibration(
            calibration_file, _measure_calibration(settings, side), **settings_and_seed
        )
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
    calibration = read_calibration(calibration_file)
    if trials_of is not None:
        timings = timings_of_same_training(settings, trials_of, calibration.device_name)
        calibration = refit_with_trials(calibration, timings)
        write_calibration(calibration_file, calibration, **settings_and_seed)
    out.print(f"{_calibration_in_words(calibration)}: {calibration_file}")
    if check:
        _check_predictions(
            settings, calibration, check, calibration_file.with_name("calibration-check.tsv")
        )


def _calibration_in_words(calibration: Calibration) -> str:
    """The device's numbers, and how well they fit what was measured."""
    device_in_words = ", ".join(
        f"{name.replace('_', ' ')} {value:.4g}" for name, value in asdict(calibration.speed).items()
    )
    count_within = (abs(calibration.misfits - 1) <= SMALL_MISFIT).sum()
    return (
        f"{calibration.device_name}: {device_in_words}; {len(calibration.probes)} networks and "
        f"{calibration.trial_count} trials fitted, {count_within} of the networks within 25 %"
    )


def _networks_to_time(settings: Settings, side: int) -> Columns:
    """The networks of the configured space that may be timed; for a tree those of the paper's space:
    the prices are the device's."""
    space = paper_space()
    if not settings.search.has_tree:
        space = search_space(settings)
    columns = columns_of_space(
        space,
        classes=len(vocabulary(settings.regions).classes),
        head=settings.training.head,
        inputs=settings.training.inputs,
        side=side,
    )
    return probe_candidates(columns)


def _measure_calibration(settings: Settings, side: int) -> Calibration:
    """The calibration of the device, from short trainings of networks of the configured space."""
    networks = _networks_to_time(settings, side)
    bench = make_probe_bench(settings, side)
    with progress_bar("timing") as advance:
        return calibrate_device(
            networks,
            bench.time_network,
            device_name(bench.device),
            clock=bench.clock,
            progress=advance,
            largest_bytes=min(LARGEST_PROBE_BYTES, settings.search.memory_limit_gb * 1e9),
        )


def _check_predictions(
    settings: Settings, calibration: Calibration, network_count: int, table_file: Path
) -> None:
    """Briefly trains held-out networks; prints how many predictions were within tolerance, and
    writes a TSV of all."""
    networks = choose_held_out(
        _networks_to_time(settings, SIDE_PIXELS), calibration, network_count, settings.seed
    )
    bench = make_probe_bench(settings)
    comparisons: list[HeldOutNetwork] = []
    with progress_bar("checking") as advance:
        for comparison in measure_held_out(networks, calibration, bench, bench.measure_peak_bytes):
            comparisons.append(comparison)
            # after each: one takes minutes
            write_tsv(table_file, list(HeldOutNetwork.__dataclass_fields__), map(vars, comparisons))
            advance(len(comparisons), len(networks))
    for quantity, tolerance in TOLERANCE_BY_QUANTITY.items():
        verdicts = [comparison.is_within(quantity) for comparison in comparisons]
        is_within = [verdict for verdict in verdicts if verdict is not None]
        if not is_within:
            out.print(f"{quantity}: cannot be measured here")
            continue
        low, high = wilson_interval(sum(is_within), len(is_within))
        out.print(
            f"{quantity}: {sum(is_within)}/{len(is_within)} within {tolerance:.0%} of the measurement "
            f"({low:.0%}-{high:.0%})"
        )
    out.print(f"{table_file}")
