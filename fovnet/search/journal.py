"""The journal of a search: a folder that stays valid if the search is killed at any moment, and can
be read at any time.

    search.json      the search's identity (Search.identity), number of trials requested, the number
                     after which it ends, notes
    search.npz       rows of the space, predicted seconds, memory and mask, so that a slot can be
                     replayed from the journal alone
    slot-0007.json   one finished trial, written atomically
    prior.safetensors  what earlier searches taught this one, where it uses that
    owner.lock       held by the running search; the kernel releases it when the process ends, in
                     whatever way
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from fovnet.errors import SearchError
from fovnet.machine.locks import take_lock
from fovnet.records import (
    digest,
    is_stamped,
    read_json,
    read_npz,
    why_no_folder,
    write_json,
    write_npz,
)
from fovnet.search.look.view import DEFAULT_CANDIDATES, Modelling, Polling, Ranking
from fovnet.search.prior import read_prior, write_prior
from fovnet.search.search import AnySearch, Search, propose_slot
from fovnet.search.slot_files import read_slot, read_trials, slot_path
from fovnet.search.space import Axis, Space
from fovnet.search.spend.schedule import Schedule
from fovnet.search.tree.costs import CostsOf, equal_costs_of
from fovnet.search.tree.tree import Tree
from fovnet.search.tree_search import TreeSearch
from fovnet.search.trial import Proposal, Trial, trial_to_facts

PRIOR_FILE_NAME = "prior.safetensors"
OTHER_PREDICTIONS_TEXT = (
    "its search began with other predictions (predicted_seconds), which order its clock: restore the "
    "calibration.json that it began with, or the numbers of search.speed; or give another results folder to "
    "start a new search."
)
OTHER_TREE_TEXTS = {
    "tree": "its search is over another tree (search.space), or has other start values (search.start)",
    "costs": "its search began with other costs (device, limits, slices, or the formulas of another "
    "version of fovnet)",
}

SETTINGS_ADDED_LATER = ("candidates", "schedule", "polling", "ranking", "prior_sha256")
"""Keys of search.json that only some searches have."""


@dataclass(frozen=True)
class Journal:
    """The journal of `search` in `folder`."""

    folder: Path
    search: AnySearch

    def read(self, slot: int) -> Trial | None:
        """The trial of a slot, None if it is not finished.  An unreadable file is renamed to
        .json.damaged, and counts as unfinished."""
        path = slot_path(self.folder, slot)
        try:
            return read_slot(path)
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            path.replace(path.with_suffix(".json.damaged"))
            return None

    def write(self, trial: Trial) -> None:
        """Writes a finished trial, atomically."""
        path = slot_path(self.folder, trial.proposal.slot)
        write_json(
            path, trial_to_facts(trial), settings=self.search.identity, seed=self.search.seed
        )

    def write_header(
        self, most_trials: int, requested_trials: int, ends_after: int | None, notes: list[str]
    ) -> None:
        """Writes search.json.

        most_trials, requested_trials  the greatest number ever requested, and the last one
        ends_after  the number after which the search ends early, None if it does not
        notes       in sentences
        """
        header = {
            **self.search.identity,
            "trials": most_trials,
            "asked": requested_trials,
            "ends_after": ends_after,
            "notes": notes,
        }
        write_json(
            self.folder / "search.json",
            header,
            settings=self.search.identity,
            seed=self.search.seed,
        )


@contextmanager
def own_journal(folder: Path, search: AnySearch) -> Iterator[Journal]:
    """The journal of `search` in `folder`, new or resumed, and locked while the block runs.

    Raises SearchError if another process has the lock ("journal-owned") or it is another search's
    ("journal-of-another-search").
    """
    with lock_journal(folder):
        yield open_journal(folder, search)


@contextmanager
def lock_journal(folder: Path) -> Iterator[None]:
    """Locks the folder, created if missing, while the block runs.  Raises SearchError
    "journal-owned" if another process has the lock.

    Forked (not spawned) children keep the lock after the process has ended: they may still be
    training for the journal.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "owner.lock").open("a") as lock:
        try:
            take_lock(lock)
        except BlockingIOError as lock_error:
            raise SearchError(
                "journal-owned",
                f"{folder}: another process is searching or training here; wait for it, or give another "
                "folder.",
            ) from lock_error
        yield


def open_journal(folder: Path, search: AnySearch) -> Journal:
    """The journal of `search` in a folder locked by the caller, new or resumed.  Raises SearchError
    if it is another search's."""
    search = _with_models_of_journal(folder, search)
    is_begun = (folder / "search.json").exists()
    if is_begun:
        refuse_another_search(folder, search)
    # lost arrays are written again: the hashes in search.json match
    if search.arrays and not (is_begun and _holds_arrays(folder / "search.npz")):
        write_npz(folder / "search.npz", **search.arrays)
    if isinstance(search, Search) and search.prior is not None:
        write_prior(search.prior, folder / PRIOR_FILE_NAME)
    return Journal(folder, search)


def _with_models_of_journal(folder: Path, search: AnySearch) -> AnySearch:
    """The search, with a single model if the journal in `folder` was begun with one, as all were
    before models could alternate: search.json does not name them, or, where a workflow has deleted
    that to begin again, the trials bear the stamp of such a search."""
    single = search.with_single_model()
    if (folder / "search.json").exists():
        is_single = "models" not in read_header(folder).get("modelling", {})
    else:
        is_single = digest(single.identity) in _stamps_of_trials(folder)
    if is_single:
        return single
    return search


def _stamps_of_trials(folder: Path) -> set[str]:
    """The hashes of the searches that wrote the readable trials."""
    return {
        read_json(path)["fovnet"]["settings_sha256"]
        for path in folder.glob("slot-*.json")
        if is_stamped(path)
    }


def _holds_arrays(path: Path) -> bool:
    """Whether the file is a readable npz with arrays in it."""
    try:
        return bool(read_npz(path))
    except (OSError, EOFError, BadZipFile, ValueError):
        return False


def refuse_another_search(folder: Path, search: AnySearch) -> None:
    """Raises SearchError if the journal in `folder` is another search's; the number of trials may
    differ."""
    header = read_header(folder)
    identity = dict(search.identity)
    for later_setting in SETTINGS_ADDED_LATER:
        identity.setdefault(later_setting)
    for key, value in identity.items():
        if header.get(key) != value:
            if key == "predicted_seconds_sha256":
                raise SearchError(
                    "journal-of-another-search", f"{folder}: {OTHER_PREDICTIONS_TEXT}"
                )
            if key in OTHER_TREE_TEXTS and header.get(key) is not None:
                raise SearchError(
                    "journal-of-another-search",
                    f"{folder}: {OTHER_TREE_TEXTS[key]}; give another folder or the same settings.",
                )
            raise SearchError(
                "journal-of-another-search",
                f"{folder}: its search has {key} = {header.get(key)}, this one {value}; give another folder "
                "or the same settings.",
            )


def read_header(folder: Path) -> dict[str, Any]:
    """The facts of search.json.  Raises SearchError if it is missing or unreadable."""
    try:
        return read_json(folder / "search.json")
    except (FileNotFoundError, NotADirectoryError):
        remedy = (
            "give a search's journal (results/.../search/<its name>), or begin one: `fovnet search`, `fovnet "
            "slot begin`"
        )
        reason = why_no_folder(folder) or "no search.json in it"
        raise SearchError("journal-header", f"{folder}: {reason}; {remedy}.") from None
    except (OSError, ValueError) as fault:
        raise SearchError(
            "journal-header",
            f"{folder}: search.json is unreadable ({fault}); restore it or search again.",
        ) from fault


def read_search(folder: Path, costs_of: CostsOf = equal_costs_of) -> AnySearch:
    """The search of a journal; of a tree `costs_of` prices the points.  Raises SearchError if header or
    arrays are unreadable or contradict each other."""
    if "tree" not in read_header(folder):
        return _read_space_search(folder)
    return _read_tree_search(folder, costs_of)


def _modelling_of(header: Mapping[str, Any]) -> Modelling:
    """How the search of a journal models its scores, from its search.json."""
    return Modelling(**{"models": "single", **header["modelling"]})


def _read_space_search(folder: Path) -> Search:
    """The search of a journal over a finite space.  Raises SearchError as `read_search`."""
    header = read_header(folder)
    try:
        arrays = read_npz(folder / "search.npz")
        axes = tuple(Axis.from_facts(axis) for axis in header["axes"])
        header_settings = {
            key: header[key] for key in ("method", "seed", "workers", "start", "initial", "lead")
        }
        search = Search(
            Space(axes, arrays["rows"]),
            **header_settings,
            predicted_seconds=arrays["predicted_seconds"],
            feasible=arrays["feasible"],
            modelling=_modelling_of(header),
            memory=arrays.get("memory"),
            candidates=header.get("candidates", DEFAULT_CANDIDATES),
            schedule=Schedule(**header.get("schedule", {})),
        )
        if "polling" in header:
            search = replace(search, polling=Polling.from_facts(header["polling"]))
        if "ranking" in header:
            search = replace(search, ranking=Ranking.from_facts(header["ranking"]))
        if "prior_sha256" in header:
            search = replace(search, prior=read_prior(folder / PRIOR_FILE_NAME, axes))
    except (OSError, EOFError, BadZipFile, ValueError, KeyError, TypeError) as fault:
        raise SearchError(
            "journal-header",
            f"{folder}: search.json or search.npz does not belong to a journal ({fault!r}); the search's own "
            "command writes a lost search.npz again.",
        ) from fault
    refuse_another_search(folder, search)
    return search


def _read_tree_search(folder: Path, costs_of: CostsOf) -> TreeSearch:
    """The search of a journal over a tree.  Raises SearchError as `read_search`."""
    header = read_header(folder)
    try:
        settings = {key: header[key] for key in ("method", "seed", "workers", "initial", "lead")}
        search = TreeSearch(
            Tree.from_facts(header["tree"]),
            **settings,
            costs=costs_of(header["costs"]),
            modelling=_modelling_of(header),
            schedule=Schedule(**header.get("schedule", {})),
        )
        if "polling" in header:
            search = replace(search, polling=Polling.from_facts(header["polling"]))
    except (ValueError, KeyError, TypeError) as fault:
        raise SearchError(
            "journal-header",
            f"{folder}: search.json does not belong to a journal ({fault!r}); restore it or search again.",
        ) from fault
    refuse_another_search(folder, search)
    return search


def replay(folder: Path, slot: int, costs_of: CostsOf = equal_costs_of) -> Proposal:
    """The proposal of the search in `folder` for `slot`, computed again from the trials that this
    slot has seen.

    Proposals of earlier slots without a recorded trial are computed too.  Raises SearchError
    "slot-unfinished" if a slot that it must see is not finished.
    """
    search = read_search(folder, costs_of)
    trial_by_slot = {trial.proposal.slot: trial for trial in read_trials(folder)}
    earlier_proposals: list[Proposal] = []
    for earlier_slot in range(slot):
        if earlier_slot in trial_by_slot:
            proposal = trial_by_slot[earlier_slot].proposal
        else:
            proposal = _propose_or_refuse(folder, search, earlier_proposals, trial_by_slot, slot)
        earlier_proposals.append(proposal)
    return _propose_or_refuse(folder, search, earlier_proposals, trial_by_slot, slot)


def _propose_or_refuse(
    folder: Path,
    search: AnySearch,
    earlier_proposals: list[Proposal],
    trial_by_slot: dict[int, Trial],
    wanted_slot: int,
) -> Proposal:
    """The next proposal, on the way to that of `wanted_slot`.  Raises SearchError "slot-unfinished"
    if a slot that it must see has no trial."""
    try:
        return propose_slot(search, earlier_proposals, trial_by_slot)
    except KeyError as awaited:
        if trial_by_slot and wanted_slot > len(earlier_proposals):
            raise SearchError(
                "slot-unfinished",
                f"{folder}: slot {wanted_slot} was asked for; there are 0 to {max(trial_by_slot)}: give one "
                "of these",
            ) from awaited
        raise SearchError(
            "slot-unfinished",
            f"{folder}: slot {len(earlier_proposals)} waits for slot {awaited}, which is not finished; run that one "
            "first, or choose an earlier slot",
        ) from awaited
