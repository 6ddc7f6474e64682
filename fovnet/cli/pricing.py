"""`fovnet cost`: what networks cost before any is trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from fovnet.acts.pricing import price_search, price_tree
from fovnet.acts.search_space import start_configuration
from fovnet.acts.settings import read_settings
from fovnet.cli.options import ConfigFile, file_out
from fovnet.cli.screen import empty_table, out, show_table
from fovnet.config.models import Settings
from fovnet.errors import ConfigError
from fovnet.net.cost.prices import (
    Prices,
    cost_quantiles,
    is_price_table,
    predict_search_seconds,
    price_table,
)
from fovnet.net.cost.tree_prices import TreePrices
from fovnet.records import read_columns, write_tsv
from fovnet.report.content.wording import duration

verbs = typer.Typer()
MOST_WITH_THREE_DIGITS = 1000  # smaller numbers are shown with three digits, others whole


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
    memory, seconds.

    Of a tree, the costs of its start and of a sample."""
    settings = read_settings(config)
    if settings.search.has_tree:
        _refuse_table_of_tree(out_file)
        _show_tree_prices(price_tree(settings), settings.search.trials, settings.search.workers)
        return
    prices = price_search(settings)
    if out_file is not None:
        write_tsv(out_file, *price_table(prices))
    _show_limits(prices, settings)
    prices.refuse_where_nothing_fits()
    _show_quantiles(cost_quantiles(prices))
    _show_start(prices, settings)
    trials = settings.search.trials
    workers = settings.search.workers
    _show_search_time(trials, workers, predict_search_seconds(prices, trials, workers))
    if out_file is not None:
        out.print(f"{out_file}")


def _refuse_table_of_tree(out_file: Path | None) -> None:
    """Raise ConfigError ("cost-tree") for a table of the rows of a tree."""
    if out_file is not None:
        raise ConfigError(
            "cost-tree", f"--out {out_file}: a tree has no table of rows to write; leave it out"
        )


def _show_search_time(trials: int, workers: int, seconds: float) -> None:
    """Prints how long a search takes."""
    out.print(
        f"{trials} trials, {workers} at a time: about {duration(seconds)}, if they are a fair sample of those "
        "that fit."
    )


def _show_tree_prices(prices: TreePrices, trials: int, workers: int) -> None:
    """Prints what the start of a tree costs, how many points of a sample fit, and what those cost."""
    verdict = ""
    if prices.start_fault is not None:
        verdict = f"; it does not fit: {prices.start_fault.sentence}"
    cost = prices.start_cost
    out.print(
        f"The start: {cost.weight_count:,.0f} weights, {cost.forward_flop / 2e6:,.3g} million multiply-adds per "
        f"slice, {prices.start_memory / 1e6:,.0f} MB, {duration(prices.start_seconds)}{verdict}."
    )
    refusals = ", ".join(
        f"{count:,} for {reason}" for reason, count in prices.count_by_reason.items()
    )
    refusals_clause = ""
    if refusals:
        refusals_clause = f"; the others do not: {refusals}"
    out.print(f"{len(prices.seconds):,} of {prices.sample_count:,} draws fit{refusals_clause}.")
    if len(prices.seconds):
        _show_quantiles(prices.quantiles)
        _show_search_time(trials, workers, float(prices.seconds.mean()) * trials / workers)


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


def _show_quantiles(quantiles_by_name: Mapping[str, Sequence[float]]) -> None:
    """Prints the quantiles of each cost, of the configurations that fit."""
    quantile_table = empty_table(
        "of those that fit", "", "least", "a quarter", "half", "three quarters", "most"
    )
    for cost_name, quantiles in quantiles_by_name.items():
        quantile_table.add_row(cost_name, *map(_number_text, quantiles))
    show_table(quantile_table)


def _number_text(value: float) -> str:
    if value < MOST_WITH_THREE_DIGITS:
        return f"{value:,.3g}"
    return f"{value:,.0f}"


def _show_start(prices: Prices, settings: Settings) -> None:
    """Prints the costs of the configuration that a search begins with."""
    start_row = prices.space.row_of(start_configuration(settings))
    costs_in_words = (
        f"{prices.cost.weight_count[start_row]:,.0f} weights, {prices.cost.forward_flop[start_row] / 1e6:,.0f} million "
        f"operations per slice, {prices.memory_bytes[start_row] / 1e6:,.0f} MB, "
        f"{duration(float(prices.trial_seconds[start_row]))}"
    )
    verdict_in_words = ""
    if not prices.fits_limits[start_row]:
        verdict_in_words = "; it does not fit"
    out.print(f"The start, row {start_row:,}: {costs_in_words}{verdict_in_words}.")
