"""The ensemble, its decision rule, and its decisions on the test split."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import typer

from fovnet.acts.ensemble import Assembly
from fovnet.acts.opening import open_run
from fovnet.cli.options import ConfigFile
from fovnet.cli.screen import err, out, progress_bar
from fovnet.words import several

verbs = typer.Typer()


@verbs.command()
def ensemble(config: ConfigFile) -> None:
    """Make an ensemble of the best trials, and predict the validation and test slices once.

    The network that checks the direction of the slices needs 50 volumes in the training split and 99 in the
    validation split; with fewer there is no such check.
    """
    run = open_run(config)
    assembly = run.ensemble(progress_bar)
    out.print(
        f"{_members_in_words(assembly)}, weights {assembly.weighting}, {assembly.scored_slice_count:,} slices scored: "
        f"{run.results.ensemble}"
    )


def _members_in_words(assembly: Assembly) -> str:
    """The number of members and, if it is smaller than requested, the reason."""
    members_in_words = several(assembly.member_count, "member")
    if assembly.member_count == assembly.requested_member_count:
        return members_in_words
    reason = (
        f"{assembly.better_trial_count} of {assembly.trial_count} trials ran to the end and beat guessing "
        f"(loss {assembly.guessing_loss:.2f})"
    )
    return f"{members_in_words} of {assembly.requested_member_count} wanted, for {reason}"


@verbs.command()
def tune(config: ConfigFile) -> None:
    """Choose the temperature, smoothing and thresholds of the decision, and when to abstain, on the
    validation split."""
    run = open_run(config)
    tuning = run.tune()
    rule = tuning.rule
    error_in_words = (
        f"at most {100 * run.settings.decision.stated_error:.3g}% of their slices wrong on average over "
        "people"
    )
    subjects_in_words = f"{tuning.abstention['subjects']} validation subjects"
    evidence_in_words = f"shown by {subjects_in_words}"
    if not tuning.abstention["promised"]:
        evidence_in_words = (
            f"not shown for new people: {subjects_in_words} are too few, or make too many errors"
        )
    out.print(
        f"extents are sure from confidence {rule.min_confidence:.2f} on, {error_in_words}: {evidence_in_words}"
    )
    for sentence in _bars_in_words(tuning.statements, "region"):
        out.print(sentence)
    if "yes" in tuning.part_statements:
        for sentence in _bars_in_words(tuning.part_statements, "part"):
            out.print(sentence)
    heights_in_words = "without usual heights"
    if rule.heights:
        heights_in_words = "with usual heights"
    rule_in_words = (
        f"smoothing {rule.sigma_mm:g} mm, temperature {rule.temperature:.2f}, {heights_in_words}"
    )
    out.print(
        f"{rule_in_words}; {tuning.slice_error:.1%} slice error on the validation split: {tuning.path}"
    )


def _bars_in_words(statements: Mapping[str, Any], noun: str) -> Iterator[str]:
    """A sentence on each bar of statements on regions, or on parts."""
    for answer, shown_in_words in (("yes", "shown"), ("no", "not shown")):
        bar_facts = statements[answer]
        error_in_words = (
            f"at most {100 * statements['stated_error']:.3g}% of these wrong on average over people"
        )
        subjects_in_words = several(bar_facts["subjects"], "validation subject")
        evidence_in_words = f"shown by {subjects_in_words}"
        if not bar_facts["promised"]:
            evidence_in_words = f"not shown for new people: {subjects_in_words} are too few"
        meaning_in_words = f"a {noun} counts as {shown_in_words} from probability {bar_facts['min_confidence']:.2f}"
        yield f"{meaning_in_words}, {error_in_words}: {evidence_in_words}"


@verbs.command()
def decide(config: ConfigFile) -> None:
    """Decide on the volumes of the test split: spans.tsv and one JSON per volume."""
    decisions = open_run(config).decide()
    for row in decisions.refused_rows:
        err.print(f"refused {row['volume_id']}: {row['message']} [{row['code']}]")
    volumes_in_words = several(len(decisions.volume_ids) - len(decisions.refused_rows), "volume")
    out.print(f"{volumes_in_words} decided: {decisions.spans_table}")
    if decisions.refused_rows:
        raise typer.Exit(3)
