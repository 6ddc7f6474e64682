"""What networks cost before any is trained: the prediction, and the measurement of the device
behind it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from fovnet.acts.finished_search import journal_of_same_training
from fovnet.acts.opening import open_run
from fovnet.acts.pricing import make_probe_bench, price_search, timings_of_same_training
from fovnet.acts.search_space import search_space, start_configuration
from fovnet.cli.options import ConfigFile, PathOption, file_out
from fovnet.cli.screen import empty_table, out, progress_bar, show_table
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
from fovnet.net.cost.calibration import calibrate as measured_calibration
from fovnet.net.cost.columns import Columns, columns_of_space
from fovnet.net.cost.prices import (
    Prices,
    cost_quantiles,
    is_price_table,
    predict_search_seconds,
    price_table,
)
from fovnet.net.device import device_name
from fovnet.records import read_columns, write_tsv
from fovnet.report.content.wording import duration
from fovnet.results import Results

verbs = typer.Typer()
SIDE_PIXELS = 128  # of the slices, in pixels


def _is_table_of_prices(path: Path) -> bool:
    return is_price_table(read_columns(path))


@verbs.command()
def cost(
    config: ConfigFile,
    out_file: Annotated[
        Path | None,
        file_out(
            _is_table_of_prices, "A TSV file: weights, operations, memory, seconds of every row."
        ),
    ] = None,
) -> None:
    """Predict the cost of every configuration of the space before any is trained: weights, operations,
    memory, seconds."""
    settings = open_run(config).settings
    prices = price_search(settings)
    if out_file is not None:
        write_tsv(out_file, *price_table(prices))
    _show_limits(prices, settings)
    prices.refuse_where_nothing_fits()
    _show_quantiles(prices)
    _show_start(prices, settings)
    trials = settings.search.trials
    workers = settings.search.workers
    out.print(
        f"{trials} trials, {workers} at a time: about {duration(predict_search_seconds(prices, trials, workers))}, "
        "if they are a fair sample of those that fit."
    )
    if out_file is not None:
        out.print(f"{out_file}")


def _show_limits(prices: Prices, settings: Settings) -> None:
    """Prints how many configurations are within each limit, and within all."""
    limit_gb = settings.search.memory_limit_gb
    limit_s = settings.search.seconds_limit
    counts_in_words = [f"{prices.fits_memory.sum():,} need no more than {limit_gb:g} GB"]
    if limit_s is not None:
        counts_in_words.append(
            f"{prices.fits_seconds.sum():,} take no longer than {duration(limit_s)}"
        )
    out.print(
        f"{len(prices.space):,} configurations: {', '.join(counts_in_words)}; {prices.fits_limits.sum():,} fit."
    )


def _show_quantiles(prices: Prices) -> None:
    """Prints the quantiles of each cost, of the configurations that fit."""
    quantile_table = empty_table(
        "of those that fit", "", "least", "a quarter", "half", "three quarters", "most"
    )
    for cost_name, quantiles in cost_quantiles(prices).items():
        quantile_table.add_row(cost_name, *map(_number_text, quantiles))
    show_table(quantile_table)


def _number_text(value: float) -> str:
    return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"


def _show_start(prices: Prices, settings: Settings) -> None:
    """Prints the costs of the configuration that a search begins with."""
    start_row = prices.space.row_of(start_configuration(settings))
    costs_in_words = (
        f"{prices.cost.weight_count[start_row]:,.0f} weights, {prices.cost.forward_flop[start_row] / 1e6:,.0f} million "
        f"operations per slice, {prices.memory_bytes[start_row] / 1e6:,.0f} MB, "
        f"{duration(float(prices.trial_seconds[start_row]))}"
    )
    verdict_in_words = "" if prices.fits_limits[start_row] else "; it does not fit"
    out.print(f"The start, row {start_row:,}: {costs_in_words}{verdict_in_words}.")


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
    settings = open_run(config).settings
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
    count_within = (abs(calibration.misfits - 1) <= 0.25).sum()
    return (
        f"{calibration.device_name}: {device_in_words}; {len(calibration.probes)} networks and "
        f"{calibration.trial_count} trials fitted, {count_within} of the networks within 25 %"
    )


def _networks_to_time(settings: Settings, side: int) -> Columns:
    """The networks of the configured space that may be timed."""
    columns = columns_of_space(
        search_space(settings),
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
        return measured_calibration(
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
    from fovnet.net.cost.calibration_check import (
        TOLERANCE_BY_QUANTITY,
        HeldOutNetwork,
        choose_held_out,
        measure_held_out,
    )

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
        verdict_by_comparison = [comparison.is_within(quantity) for comparison in comparisons]
        is_within = [verdict for verdict in verdict_by_comparison if verdict is not None]
        if not is_within:
            out.print(f"{quantity}: cannot be measured here")
            continue
        low, high = wilson_interval(sum(is_within), len(is_within))
        out.print(
            f"{quantity}: {sum(is_within)}/{len(is_within)} within {tolerance:.0%} of the measurement "
            f"({low:.0%}-{high:.0%})"
        )
    out.print(f"{table_file}")
