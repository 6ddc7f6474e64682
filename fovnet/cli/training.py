"""`fovnet train`: a single network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fovnet.acts.search_plan import SearchPlan
from fovnet.acts.search_space import change_start
from fovnet.acts.settings import read_settings
from fovnet.acts.slices import load_configured_slices
from fovnet.cli.options import ConfigFile, FolderOut
from fovnet.cli.screen import epoch_bar, err, out
from fovnet.drawing.canvas import save_png
from fovnet.net.device import choose_device
from fovnet.net.jobs.single_training import SingleTraining
from fovnet.report.content.layer_drawings import layers_view
from fovnet.report.content.wording import configuration_text
from fovnet.report.figures.layers import layers_figure
from fovnet.report.figures.learning import learning_figure
from fovnet.search.trial import Outcome
from fovnet.volume.slices.resizing import SIDE_PIXELS
from fovnet.words import several

verbs = typer.Typer()


@verbs.command()
def train(
    config: ConfigFile,
    out_folder: Annotated[
        Path, FolderOut("--out", help="Where the network, trial.json and curve.png are written.")
    ],
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", help="axis=level, may be repeated; default: search.start."),
    ] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Else training.epochs.")] = None,
    training_seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            min=0,
            max=2**64 - 1,
            help="Seed of the training; a trial's own seed repeats that trial.",
        ),
    ] = None,
) -> None:
    """Train one configuration; status 3 if it does not complete. If killed, the same command resumes."""

    settings = read_settings(config)
    configuration = change_start(settings, changes or [])
    choose_device(settings.training.device)
    pack = load_configured_slices(settings, config)
    training = SearchPlan(settings, pack).single_training(
        configuration, out_folder, epochs, training_seed
    )
    replaced_configuration = training.read_replaced_configuration()
    if replaced_configuration is not None:
        err.print(
            f"{out_folder}: replaces the network of another training ({configuration_text(replaced_configuration)})"
        )
    if training.read_record() is None:
        epochs_in_words = several(training.job.recipe.epochs, "epoch")
        slices_in_words = several(settings.training.slices_per_epoch, "slice")
        scored_slices = several(len(training.validation_rows), "slice")
        err.print(
            f"{configuration_text(configuration)}: {epochs_in_words} of {slices_in_words}, validated on {scored_slices}"
        )
    with epoch_bar(settings.training.slices_per_epoch) as show_epoch:
        outcome = training.train(show_epoch)
    _show_outcome(outcome)
    _draw_training(training, outcome)
    written_files = sorted(path for path in out_folder.iterdir() if path.is_file())
    out.print(f"{out_folder}: {', '.join(path.name for path in written_files)}")
    if outcome.status != "completed":
        raise typer.Exit(3)


def _show_outcome(outcome: Outcome) -> None:
    """Prints how a training ended."""
    sentence = f"{outcome.status} after {several(len(outcome.validation_loss), 'epoch')}"
    if outcome.score is not None:
        sentence += f", validation loss {outcome.score:.4f} at best"
    if outcome.message:
        sentence += f": {outcome.message}"
    out.print(sentence)


def _draw_training(training: SingleTraining, outcome: Outcome) -> None:
    """Writes curve.png and layers.png beside the record of the training."""
    ending_in_words = (
        f"{outcome.status.replace('_', ' ')} after {len(outcome.validation_loss)} epochs, "
        f"{outcome.seconds:.0f} s on {outcome.device}"
    )
    figure = learning_figure(
        outcome.training_loss,
        outcome.validation_loss,
        training.guessing_loss,
        configuration_text(training.configuration),
        ending_in_words,
    )
    save_png(figure, training.folder / "curve.png")
    view = layers_view(
        training.folder.name,
        training.configuration,
        training.data.targets.shape[1],
        SIDE_PIXELS,
        training.job.input_kinds,
        training.job.head,
    )
    save_png(layers_figure(view), training.folder / "layers.png")
    out.print(view.amounts)
