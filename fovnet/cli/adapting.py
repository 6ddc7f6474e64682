"""Networks fitted to a user's labelled volumes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from fovnet.acts.adapt import (
    SIMULATED_IN_WORDS,
    USERS_IN_WORDS,
    adapt_ensemble,
    settings_of_adaptation,
)
from fovnet.acts.opening import open_run
from fovnet.acts.run import Run
from fovnet.cli.options import ModelFolder, PathOption, Workers, folder_out, model_folder, table_of
from fovnet.cli.screen import (
    difference_text,
    empty_table,
    out,
    progress_bar,
    show_table,
    value_text,
)
from fovnet.errors import ConfigError
from fovnet.evaluate.gains import HEADLINES, Gain
from fovnet.own_files import is_our_json
from fovnet.words import several

verbs = typer.Typer()
RECOGNISER_BY_FILE = {
    "gains.tsv": table_of("fovnet.evaluate.gains", "GAIN_COLUMNS"),
    "adapted.json": is_our_json,
}


@verbs.command()
def adapt(
    labels: Annotated[
        Path | None,
        PathOption(
            "--labels",
            help="Volumes of five subjects or more, labelled: a folder with volumes.tsv and "
            "regions.tsv.",
        ),
    ] = None,
    out_folder: Annotated[
        Path | None,
        folder_out(RECOGNISER_BY_FILE, "Where the ensemble and what it gained are written."),
    ] = None,
    model: ModelFolder = None,
    config: Annotated[
        Path | None,
        PathOption(
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
    nothing is gained, the old ones are kept, and a sentence says why. The simulated people of the package's
    networks come with them; for other networks they are simulated, which takes ten minutes. Interrupted, the
    same command goes on where it was; with more labels and the same --out, people simulated are used again.
    """
    run = _run_to_adapt(config, labels, out_folder, model, seed)
    # with a configuration it is the workflow that holds the results
    outcome = adapt_ensemble(run, workers=workers, progress=progress_bar, hold=config is None)
    _show_gains(USERS_IN_WORDS, outcome.user_gains)
    _show_gains(f"{outcome.checked_people} {SIMULATED_IN_WORDS}", outcome.simulated_gains)
    for sentence in outcome.notes:
        out.print(f"{sentence}.")
    paths = f"{outcome.ensemble_folder}  {outcome.gains_table}"
    if not outcome.new_weight_share:
        out.print(f"the networks as they were are kept: {outcome.reason_for_keeping}. {paths}")
        return
    volumes = several(outcome.volume_count, "volume")
    subjects = several(outcome.subject_count, "subject")
    out.print(f"{outcome.certainty_in_words}.")
    out.print(
        f"adapted to {volumes} of {subjects}, {outcome.new_weight_share:.0%} of the new weights: {paths}"
    )


def _run_to_adapt(
    config: Path | None,
    labels: Path | None,
    out_folder: Path | None,
    model: Path | None,
    seed: int,
) -> Run:
    """The run that is configured, or made of labels, results and networks.  Raises ConfigError if
    both or neither are given."""
    if config is not None:
        if labels or out_folder or model:
            raise ConfigError(
                "adapt-both",
                f"--config {config}: names labels, results and networks itself; leave --labels, --out and "
                "--model out",
            )
        return open_run(config)
    if labels is None or out_folder is None:
        raise ConfigError(
            "adapt-what",
            "both --labels TABLES and --out FOLDER are wanted, or --config FILE instead",
        )
    return Run(labels, settings_of_adaptation(labels, out_folder, model_folder(model), seed))


def _show_gains(title: str, gains: Sequence[Gain]) -> None:
    """A table of the measures in HEADLINES; `gains.tsv` has those by region and by kind of picture,
    too."""
    table = empty_table(title, "", "before", "after", "percentage points (95 % interval)", "of")
    for gain in gains:
        if gain.measure not in HEADLINES or gain.region or gain.kind:
            continue
        denominators = dict.fromkeys((gain.of_before, gain.of_after))
        table.add_row(
            gain.measure.replace("_", " "),
            value_text(gain.measure, gain.difference.first),
            value_text(gain.measure, gain.difference.second),
            difference_text(gain.difference),
            ", ".join(f"{denominator:,}" for denominator in denominators),
        )
    if table.row_count:
        show_table(table)
