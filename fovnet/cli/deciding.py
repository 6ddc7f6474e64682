"""The ensemble, its decision rule, and its decisions on the test split."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import typer

from fovnet.acts.opening import opened
from fovnet.cli.options import ConfigFile
from fovnet.cli.screen import err, out, progress_bar
from fovnet.words import several

if TYPE_CHECKING:
    from fovnet.acts.ensemble import Assembled

verbs = typer.Typer()


@verbs.command()
def ensemble(config: ConfigFile) -> None:
    """Make an ensemble of the best trials, and predict the validation and test slices once.

    The network that checks the direction of the slices needs 50 volumes in the training split and 99 in the
    validation split; with fewer there is no such check.
    """
    run = opened(config)
    made = run.ensemble(progress_bar)
    out.print(
        f"{_counted(made)}, weights {made.weights}, {made.slices:,} slices scored: {run.results.ensemble}"
    )


def _counted(made: Assembled) -> str:
    """The number of members and, if it is smaller than requested, the reason."""
    if made.members == made.wanted:
        return several(made.members, "member")
    why = f"{made.better} of {made.trials} trials ran to the end and beat guessing (loss {made.guess:.2f})"
    return f"{several(made.members, 'member')} of {made.wanted} wanted, for {why}"


@verbs.command()
def tune(config: ConfigFile) -> None:
    """Choose the temperature, smoothing and thresholds of the decision, and when to abstain, on the
    validation split."""
    run = opened(config)
    made = run.tune()
    rule, abstention = made.rule, made.abstention
    chosen = (
        f"smoothing {rule.sigma_mm:g} mm, temperature {rule.temperature:.2f}, "
        f"{'with' if rule.heights else 'without'} usual heights"
    )
    wrong = (
        f"at most {100 * run.settings.decision.stated_error:.3g}% of their slices wrong on average over "
        "people"
    )
    seen = f"{abstention['subjects']} validation subjects"
    held = (
        f"shown by {seen}"
        if abstention["promised"]
        else f"not shown for new people: {seen} are too few, or make too many errors"
    )
    out.print(f"extents are sure from confidence {rule.min_confidence:.2f} on, {wrong}: {held}")
    for sentence in _bars_in_words(made.statements):
        out.print(sentence)
    out.print(f"{chosen}; {made.slice_error:.1%} slice error on the validation split: {made.path}")


def _bars_in_words(statements: Mapping[str, Any]) -> Iterator[str]:
    """A sentence on each bar of statements on regions."""
    for kind, words in (("yes", "shown"), ("no", "not shown")):
        found = statements[kind]
        wrong = (
            f"at most {100 * statements['stated_error']:.3g}% of these wrong on average over people"
        )
        seen = several(found["subjects"], "validation subject")
        held = (
            f"shown by {seen}"
            if found["promised"]
            else f"not shown for new people: {seen} are too few"
        )
        said = f"a region counts as {words} from probability {found['min_confidence']:.2f}"
        yield f"{said}, {wrong}: {held}"


@verbs.command()
def decide(config: ConfigFile) -> None:
    """Decide on the volumes of the test split: spans.tsv and one JSON per volume."""
    made = opened(config).decide()
    for row in made.refused:
        err.print(f"refused {row['volume_id']}: {row['message']} [{row['code']}]")
    out.print(f"{several(len(made.volumes) - len(made.refused), 'volume')} decided: {made.table}")
    if made.refused:
        raise typer.Exit(3)
