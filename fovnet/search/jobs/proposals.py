"""Proposals on disk, for a search whose slots are separate jobs: each job reads the decisions of
those before it.

    proposal-0007.json   what slot 7 trains, or a sentence why the search ends before it
Fast to import: while planning, a workflow asks here which slots there are and what they wait for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fovnet.errors import SearchError
from fovnet.records import read_json, write_json
from fovnet.search.clock import Clock
from fovnet.search.journal import read_header
from fovnet.search.spend.schedule import Schedule
from fovnet.search.trial import Proposal, proposal_from_facts, proposal_to_facts


def proposal_path(folder: Path, slot: int) -> Path:
    """The file of a slot's proposal; four digits, more where needed."""
    return folder / f"proposal-{slot:04d}.json"


def write_proposal(
    folder: Path, slot: int, proposal: Proposal | str, *, source: str, seed: int
) -> Path:
    """Writes the proposal of `slot`, or the sentence with which the search ends, and returns the
    path; `source` as in `steps.begin`."""
    facts: dict[str, Any] = {"source": source}
    if isinstance(proposal, str):
        facts = {"ends": proposal, **facts}
    else:
        facts = {"proposal": proposal_to_facts(proposal), **facts}
    return write_json(proposal_path(folder, slot), facts, settings=source, seed=seed)


def read_proposal(folder: Path, slot: int, source: str | None = None) -> Proposal | str:
    """The proposal of a slot, or the sentence with which the search ends there.

    Raises SearchError if it is missing or unreadable, or was made for another `source`.
    """
    file_path = proposal_path(folder, slot)
    try:
        file_facts = read_json(file_path)
        proposal = _proposal_or_ending(file_facts)
    except FileNotFoundError:
        raise SearchError(
            "proposal-missing",
            f"{file_path}: does not exist; `fovnet slot propose --slot {slot}` makes it.",
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise SearchError(
            "proposal-missing",
            f"{file_path}: not a readable proposal ({fault!r}); `fovnet slot propose --slot {slot}` makes it",
        ) from fault
    if source is not None and file_facts.get("source") != source:
        raise SearchError(
            "proposal-of-another-search",
            f"{file_path}: made for other settings or slices; `fovnet slot begin` clears it away",
        )
    return proposal


def _proposal_or_ending(file_facts: Mapping[str, Any]) -> Proposal | str:
    """The proposal of a file, or the sentence with which the search ends there.  Raises ValueError,
    KeyError or TypeError if it has neither."""
    if "ends" in file_facts:
        return str(file_facts["ends"])
    return proposal_from_facts(file_facts["proposal"])


def read_proposals(folder: Path, slots: int, source: str | None = None) -> list[Proposal]:
    """The proposals of slots 0..slots-1, fewer if the search ends before.  Raises SearchError as
    `read_proposal`."""
    return _read_proposals_while(folder, source, lambda proposals: len(proposals) < slots)


def proposals_within(folder: Path, trials: int, source: str | None = None) -> list[Proposal]:
    """The proposals made for the epochs of so many trials, fewer if the search ends before.  Raises
    SearchError as `read_proposal`."""
    return _read_proposals_while(
        folder, source, lambda proposals: is_within_budget(folder, proposals, trials)
    )


def _read_proposals_while(
    folder: Path, source: str | None, wants_more: Callable[[Sequence[Proposal]], bool]
) -> list[Proposal]:
    """The proposals from slot 0 on, as long as `wants_more` of those read, and before the search
    ends."""
    proposals: list[Proposal] = []
    while wants_more(proposals):
        proposal = read_proposal(folder, len(proposals), source)
        if isinstance(proposal, str):
            break
        proposals.append(proposal)
    return proposals


def is_within_budget(folder: Path, proposals: Sequence[Proposal], trials: int) -> bool:
    """Whether the search in a journal has a slot after these: those before it spend less than the
    epochs of so many trials."""
    return Schedule(**read_header(folder).get("schedule", {})).is_within_budget(proposals, trials)


def slots_awaited(folder: Path, slot: int) -> tuple[int, ...]:
    """The slots that must be finished before `slot` can be proposed, without those that the slot
    before it has already waited for.

    A slot sees all that earlier slots have seen, so it depends only on the proposal before it and
    these slots: a workflow of 300 slots needs a list of 600 files instead of 90,000.
    """
    predicted_seconds = [proposal.predicted_seconds for proposal in read_proposals(folder, slot)]
    clock = _clock_of_journal(folder)
    awaited_before = set(clock.slots_in_sight(predicted_seconds[:-1]).seen_slots)
    return tuple(
        seen_slot
        for seen_slot in clock.slots_in_sight(predicted_seconds).seen_slots
        if seen_slot not in awaited_before
    )


def _clock_of_journal(folder: Path) -> Clock:
    """The clock of the journal's search, from its header alone.  Raises SearchError if that is
    unreadable."""
    header = read_header(folder)
    try:
        return Clock(header["workers"], header["first_slots"], header["lead"])
    except KeyError as fault:
        raise SearchError(
            "journal-header",
            f"{folder}: search.json lacks {fault}; remove the folder to search again.",
        ) from None


@dataclass(frozen=True)
class Request:
    """Number of trials requested, that of slots after which the search ends early (None: it does
    not), and notes in sentences."""

    trials: int
    ends_after: int | None
    notes: tuple[str, ...]


def read_request(folder: Path, finished_count: int) -> Request:
    """The number of trials requested of the search in a journal, with so many slots finished.

    A search whose slots are jobs stores no number: it is that of the proposed or finished slots,
    or, of a schedule, of the full trainings whose epochs the proposed ones have.  A proposal file
    may contain the sentence with which the search ends at its slot; later files, of an earlier
    search for more trials, are ignored.  Raises SearchError for an unreadable journal.
    """
    header = read_header(folder)
    proposal_count = len(list(folder.glob("proposal-*.json")))
    notes = list(header["notes"])
    ends_after = header.get("ends_after")
    slot_count = proposal_count
    for slot in range(proposal_count):
        proposal = read_proposal(folder, slot)
        if isinstance(proposal, str):
            notes.append(proposal)
            ends_after = slot_count = slot
            break
    implied_trials = max(slot_count, finished_count)
    if "schedule" in header:
        schedule = Schedule(**header["schedule"])
        implied_trials = schedule.full_trainings_of(read_proposals(folder, slot_count))
    return Request(int(header.get("asked", implied_trials)), ends_after, tuple(notes))
