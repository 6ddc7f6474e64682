"""A search slot by slot, one command each; and a slot proposed again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from fovnet.acts import slots
from fovnet.acts.finished_search import read_finished_search
from fovnet.acts.run import Run, read_run
from fovnet.cli.options import ConfigFile, PathArgument
from fovnet.cli.screen import out, score_text
from fovnet.net.cost.layered import layered_costs_of
from fovnet.results import Results
from fovnet.search.journal import replay
from fovnet.search.trial import Trial, latest_trials, proposal_to_facts
from fovnet.words import several

verbs = typer.Typer()
slot = typer.Typer(
    no_args_is_help=True,
    help="Search slot by slot, one command each, as on a cluster; the trials are the same as those of "
    "`search`.",
)
verbs.add_typer(slot, name="slot")
Slot = Annotated[int, typer.Option(min=0, help="Which slot, counted from 0.")]


@slot.command("begin")
def slot_begin(config: ConfigFile) -> None:
    """Begin a search whose slots run as separate jobs: all decisions before the first slot."""
    search, folder = slots.begin_search(read_run(config))
    out.print(f"{search.size_in_words}: {folder}")


@slot.command("propose")
def slot_propose(config: ConfigFile, slot: Slot) -> None:
    """Propose what a slot trains, from the slots it must have seen; writes proposal-0007.json."""
    proposal = slots.propose_slot(read_run(config), slot)
    if isinstance(proposal, str):  # the search has ended
        out.print(proposal)
        return
    out.print(
        f"slot {slot}: {dict(proposal.configuration)}, having seen {len(proposal.seen_slots)} slots"
    )


@slot.command("train")
def slot_train(config: ConfigFile, slot: Slot) -> None:
    """Train the proposal of a slot; writes slot-0007.json, even if the training fails."""
    trial = slots.train_slot_of_run(read_run(config), slot)
    score = score_text(trial.score)
    out.print(f"slot {slot} {trial.outcome.status} {score} {trial.outcome.message}".rstrip())


@slot.command("gather")
def slot_gather(config: ConfigFile) -> None:
    """End a search whose slots are all finished; writes trials.tsv, for the ensemble and the report."""
    run = read_run(config)
    show_trials(run, slots.gather_trials(run))


@verbs.command()
def propose(
    run: Annotated[
        Path, PathArgument(help="A search's journal, or a results folder whose search is done.")
    ],
    slot: Annotated[
        int, typer.Option(min=0, help="The slot to propose again from what it had seen.")
    ],
) -> None:
    """Compute what a search proposes for a slot; for a finished slot this gives its recorded proposal
    again."""
    journal = run
    if (Results(run).search / "current.json").exists():
        journal, _ = read_finished_search(Results(run))
    out.print_json(json.dumps(proposal_to_facts(replay(journal, slot, layered_costs_of))))


def show_trials(run: Run, trials: list[Trial]) -> None:
    """Prints what a finished search came to."""
    last_trials = latest_trials(trials)
    scores = [trial.score for trial in last_trials if trial.score is not None]
    counts_in_words = several(len(last_trials), "trial")
    if len(last_trials) != len(trials):
        counts_in_words += f" in {len(trials)} slots"
    losses_in_words = f"validation loss {score_text(trials[0].score)} at the start, {score_text(min(scores))} at best"
    out.print(
        f"{counts_in_words}, {len(scores)} with a score; {losses_in_words}: {run.results.trials}"
    )
