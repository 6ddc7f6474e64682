"""The draws after which random search has probably drawn one of the best rows: the baseline of
every search.

    M  rows
    g  good ones among them, or their share
    n  draws
    p  the certainty wanted
Without replacement P(none of the n draws is good) = C(M - n, g) / C(M, g).
With replacement it is (1 - share)ⁿ.

Shares and certainties are read as decimals and compared in whole numbers: the float 0.1 is slightly
more than a tenth, so that a tenth of 30 rows would become four of them.  Source: Bertrand (2019),
thesis, chapter "Hyper-parameter optimization", for the closed form; for a finite space Bergstra &
Bengio, *Random search for hyper-parameter optimization* (JMLR 2012).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from math import ceil, comb, floor, log1p
from pathlib import Path
from typing import Annotated

import typer

from fovnet.cli import main
from fovnet.cli.options import file_out, table_of
from fovnet.cli.screen import empty_table, out, show_table
from fovnet.maths.draws import refuse_counts
from fovnet.records import write_tsv

SHARES = (0.01, 0.05, 0.1)
CERTAINTIES = (0.5, 0.95, 0.99)

app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class Bound:
    """The fewest draws from `rows` that include one of the best `share` with a probability above
    `certainty`.

    good  the number of rows that the share is
    """

    rows: int
    share: float
    good: int
    certainty: float
    with_replacement: int
    without_replacement: int


COLUMNS = tuple(field.name for field in fields(Bound))


def bounds(rows: int) -> list[Bound]:
    """The bounds for all SHARES and CERTAINTIES, share by share."""
    good_rows = {share: good_of(rows, share) for share in SHARES}
    return [
        Bound(
            rows,
            share,
            good_rows[share],
            certainty,
            draws_with_replacement(share, certainty),
            draws_without_replacement(rows, good_rows[share], certainty),
        )
        for share in SHARES
        for certainty in CERTAINTIES
    ]


def good_of(rows: int, share: float) -> int:
    """How many rows are the best `share` of all, rounded up.  Raises ValueError unless 0 < share <
    1."""
    return ceil(_decimal(share, "share") * rows)


def draws_with_replacement(share: float, certainty: float) -> int:
    """The fewest draws n with 1 - (1 - share)ⁿ > certainty, strictly.

    That is ceil(log(1 - p) / log(1 - share)), and one more where the quotient is whole: one throw
    of a coin is heads with 0.5, no more.  Raises ValueError unless both lie between 0 and 1.
    """
    miss = 1 - _decimal(share, "share")
    doubt = 1 - _decimal(certainty, "certainty")
    # at most two below; the rest is settled exactly
    draws = max(0, floor(log1p(-certainty) / log1p(-share)) - 1)
    while miss**draws >= doubt:
        draws += 1
    return draws


def draws_without_replacement(rows: int, good: int, certainty: float) -> int:
    """The fewest draws n from `rows`, of which `good` are good, that hold a good one with more than
    `certainty`, strictly.

    At most rows - good + 1, where one is certain.
    Raises ValueError unless 1 <= good <= rows and 0 < certainty < 1.
    """
    refuse_counts(rows, good)
    doubt = 1 - _decimal(certainty, "certainty")
    too_few = 0
    enough = rows - good + 1
    # with replacement it takes no fewer; 2 for the rounding
    if good < rows:
        enough = min(enough, floor(log1p(-certainty) / log1p(-good / rows)) + 2)
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        missed, samples = _samples_without_good(rows, good, middle)
        if missed * doubt.denominator < samples * doubt.numerator:
            enough = middle
        else:
            too_few = middle
    return enough


def _samples_without_good(rows: int, good: int, draws: int) -> tuple[int, int]:
    """The number of samples without a good row, and of all samples.

    Of the equal ratios C(M - n, g) / C(M, g) = C(M - g, n) / C(M, n) the one with the smaller
    numbers.
    """
    if draws < good:
        return comb(rows - good, draws), comb(rows, draws)
    return comb(rows - draws, good), comb(rows, good)


def _decimal(value: float, name: str) -> Fraction:
    if not 0.0 < value < 1.0:
        raise ValueError(f"{name} {value}: must be a number between 0 and 1, exclusive")
    return Fraction(repr(float(value)))


@app.command()
def write_bounds(
    rows: Annotated[int, typer.Option(min=1, help="Rows of the space.")] = 34_300,
    out_file: Annotated[
        Path | None, file_out(table_of(__name__), "A TSV file for the same numbers.")
    ] = None,
) -> None:
    """Compute how many draws random search needs until it has probably drawn one of the best
    rows."""
    table_bounds = bounds(rows)
    title = f"draws of {rows:,} rows, no row twice (any row again)"
    headings = [f"with > {certainty:g}" for certainty in CERTAINTIES]
    table = empty_table(title, "one of the best", "rows", *headings)
    for share in SHARES:
        same_share = [bound for bound in table_bounds if bound.share == share]
        cells = [f"{bound.without_replacement} ({bound.with_replacement})" for bound in same_share]
        table.add_row(f"{100 * share:g} %", f"{same_share[0].good:,}", *cells)
    show_table(table)
    if out_file is not None:
        write_tsv(out_file, COLUMNS, [vars(bound) for bound in table_bounds])
        out.print(f"{out_file}")


if __name__ == "__main__":
    main(app)
