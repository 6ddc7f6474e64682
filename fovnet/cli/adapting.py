"""Networks fitted to a user's labelled volumes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fovnet.cli.options import GivenBy, ModelFolder, Workers, folder_out, model_folder, table_of
from fovnet.cli.screen import difference_text, out, progress_bar, show_table, titled, value_text
from fovnet.errors import ConfigError
from fovnet.own_files import is_our_json
from fovnet.words import several

if TYPE_CHECKING:
    from fovnet.evaluate.gains import Gain

verbs = typer.Typer()
WRITTEN = {"gains.tsv": table_of("fovnet.evaluate.gains"), "adapted.json": is_our_json}


@verbs.command()
def adapt(
    labels: Annotated[
        Path | None,
        GivenBy(
            "--labels",
            help="Volumes of five subjects or more, labelled: a folder with volumes.tsv and "
            "regions.tsv.",
        ),
    ] = None,
    out_folder: Annotated[
        Path | None, folder_out(WRITTEN, "Where the ensemble and what it gained are written.")
    ] = None,
    model: ModelFolder = None,
    config: Annotated[
        Path | None,
        GivenBy(
            "--config",
            help="A configuration instead of --labels, --out and --model, such as "
            "configs/adapt.yaml.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0)] = 1,
    workers: Workers = 2,
) -> None:
    """Fit networks to your labelled volumes, together with simulated ones, and say what that gained on
    subjects left out in turn.

    The new networks are in the folder `ensemble` of --out (`fovnet predict --model`, `fovnet.load`); if
    nothing is gained, the old ones are kept, and a sentence says why. Interrupted, the same command goes on
    where it was; with more labels and the same --out, the simulated people are used again.
    """
    from fovnet.acts.adapt import SIMULATED_PEOPLE, USERS, adapted, settings_for
    from fovnet.acts.opening import opened
    from fovnet.acts.run import Run

    if config is not None:
        if labels or out_folder or model:
            raise ConfigError(
                "adapt-both",
                f"--config {config}: names labels, results and networks itself; leave --labels, --out and "
                "--model out",
            )
        run: Run = opened(config)
    elif labels is None or out_folder is None:
        raise ConfigError(
            "adapt-what",
            "both --labels TABLES and --out FOLDER are wanted, or --config FILE instead",
        )
    else:
        run = Run(labels, settings_for(labels, out_folder, model_folder(model), seed))
    # of a configuration the workflow holds the results
    made = adapted(run, workers=workers, progress=progress_bar, hold=config is None)
    for on, found in ((USERS, made.users), (SIMULATED_PEOPLE, made.simulated)):
        _show(on, found)
    for sentence in made.lacking:
        out.print(f"{sentence}.")
    learned = f"{several(made.volumes, 'volume')} of {several(made.subjects, 'subject')}"
    if made.share:
        out.print(f"{made.certainty}.")
        out.print(
            f"adapted to {learned}, {made.share:.0%} of the new weights: {made.ensemble}  {made.table}"
        )
    else:
        out.print(f"the networks as they were are kept: {made.why}. {made.ensemble}  {made.table}")


def _show(on: str, found: Sequence[Gain]) -> None:
    """A table of the measures in HEADLINES; `gains.tsv` has those by region and by kind of picture, too."""
    from fovnet.evaluate.gains import HEADLINES

    rows = titled(on, "", "before", "after", "percentage points (95 % interval)", "of")
    for one in found:
        if one.measure in HEADLINES and not one.region and not one.kind:
            change = one.difference
            rows.add_row(
                one.measure.replace("_", " "),
                value_text(one.measure, change.first),
                value_text(one.measure, change.second),
                difference_text(change),
                f"{one.of_before:,}"
                + ("" if one.of_before == one.of_after else f", {one.of_after:,}"),
            )
    if rows.row_count:
        show_table(rows)
