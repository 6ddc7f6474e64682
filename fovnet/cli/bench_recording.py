"""`fovnet bench table`: a table of trained networks, recorded."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from fovnet.acts.settings import read_settings
from fovnet.acts.slices import load_configured_slices
from fovnet.bench.recording import begin_recording, is_recording, write_table
from fovnet.cli.options import ConfigFile, file_out
from fovnet.cli.screen import out, progress_bar
from fovnet.errors import ConfigError

verbs = typer.Typer()


@verbs.command("table")
def bench_table(
    config: ConfigFile,
    out_file: Annotated[
        Path,
        file_out(
            is_recording,
            "The npz file that `bench search` replays.",
            "a table that this command wrote",
        ),
    ],
    side: Annotated[
        int, typer.Option(min=1, help="Side in pixels to which the slices are averaged.")
    ] = 32,
    done: Annotated[
        bool, typer.Option("--done", help="Train nothing: write a table of the finished trainings.")
    ] = False,
    again: Annotated[
        int | None,
        typer.Option(min=1, help="Train this many of the rows again instead, to measure noise."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Seed of --again; default: the configuration's, which gives identical results.",
        ),
    ] = None,
) -> None:
    """Record a table of trained networks: `search.trials` rows drawn from the configuration's
    space, each trained to its end, with their learning curves; resumes after a kill."""
    if seed is not None and again is None:
        raise ConfigError(
            "table-again",
            f"--seed {seed}: only used with --again; give both, or set `seed` in {config}",
        )
    settings = read_settings(config)
    recording = begin_recording(settings, load_configured_slices(settings, config), side)
    if again is not None:
        training_seed = settings.seed
        if seed is not None:
            training_seed = seed
        recording = recording.repeat(again, training_seed)
    if not done:
        with progress_bar("training") as advance:
            recording.train(advance)
    trials = recording.read_finished_trials()
    write_table(out_file, trials, recording)
    count_by_status = Counter(trial.outcome.status for trial in trials)
    counts_text = ", ".join(f"{count} {status}" for status, count in count_by_status.items())
    rows_text = f"{len(trials)} of {recording.training_count} rows"
    out.print(f"{rows_text}: {counts_text}; journal {recording.journal}")
    out.print(f"{out_file}")
