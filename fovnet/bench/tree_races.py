"""Search methods compared on a tree, with searchers of other libraries: the best loss after so many
trainings.

    R  runs of a contestant, with the seeds 0 ... R-1, which all contestants share
    n  trainings of a run, the first of them of the start
Every run is kept in a file, so that the same call goes on after a kill.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.bench.peers import pronoun_for, refuse_missing
from fovnet.bench.races import refuse_unknown_methods
from fovnet.bench.together import Progress, run_alone, run_each
from fovnet.bench.tree_peers import ALONE, TREE_PEERS, Train
from fovnet.bench.tree_problem import Answer, TreeProblem
from fovnet.bench.tree_problems import make_problem
from fovnet.errors import ConfigError, SearchError
from fovnet.machine.threads import one_thread
from fovnet.records import digest, read_json, write_json
from fovnet.search.look.view import RECOMMENDED
from fovnet.search.methods import METHODS
from fovnet.search.search import propose_slot, training_seed
from fovnet.search.tree.tree import Configuration
from fovnet.search.tree_search import TreeSearch
from fovnet.search.trial import Outcome, Proposal, Trial

Floats = NDArray[np.float64]

TREE_METHODS = tuple(
    name for name, method in METHODS.items() if method.tree_look and method.spend == "full"
)
COLUMNS = (
    "problem",
    "method",
    "setting",
    "after",
    "runs",
    "mean",
    "se",
    "worst",
    "difference",
    "difference_se",
    "cpu_seconds",
    "trainings",
    "test_accuracy",
    *(f"to_{peer}" for peer in TREE_PEERS),
)
"""Of a line of `compare_tree_contests`."""


@dataclass(frozen=True)
class TreeEntry:
    """One run to be made.

    contestant  one of TREE_METHODS, or of TREE_PEERS
    trials      trainings
    workers     on the search's own clock; of a peer 1
    data        the folder of the problem's pictures
    """

    problem: str
    contestant: str
    seed: int
    trials: int
    workers: int
    data: Path

    @property
    def setting(self) -> str:
        """ "workers=4"; another library's version; empty for the usual."""
        if self.contestant in TREE_PEERS:
            return TREE_PEERS[self.contestant].software.version
        if self.workers > 1:
            return f"workers={self.workers}"
        return ""


@dataclass(frozen=True)
class TreeRun:
    """A run.

    losses         (n,) of its trainings, None of one that failed
    test_accuracy  (n,) None where there are no test pictures
    cpu_seconds    of all proposals
    """

    losses: tuple[float | None, ...]
    test_accuracy: tuple[float | None, ...]
    cpu_seconds: float

    def lowest_losses(self, trials: int) -> Floats:
        """(trials,) the lowest loss after each training; a run that ended before keeps its last one."""
        losses = np.array(self.losses, dtype=np.float64)  # None becomes nan
        lowest = np.fmin.accumulate(losses)
        return np.pad(lowest, (0, trials - len(lowest)), mode="edge")

    @property
    def test_accuracy_of_best(self) -> float | None:
        """That of the training of lowest loss."""
        return self.test_accuracy[int(np.nanargmin(np.array(self.losses, dtype=np.float64)))]


def refuse_contestants(methods: Sequence[str], peers: Sequence[str], workers: int) -> None:
    """Raise ConfigError "bench-method", "bench-peer" or "bench-workers", or SearchError
    "peer-missing", unless all can be run."""
    refuse_unknown_methods(methods, TREE_METHODS)
    for name in peers:
        if name not in TREE_PEERS:
            raise ConfigError(
                "bench-peer", f"--peer {name}: unknown; choose among {', '.join(TREE_PEERS)}"
            )
    refuse_missing("--peer", {name: TREE_PEERS[name].software.missing for name in peers})
    if peers and workers > 1:
        raise ConfigError(
            "bench-workers",
            f"--workers {workers}: {', '.join(peers)}: asked for one point at a time; leave --workers "
            f"out, or {pronoun_for(peers)}",
        )


def make_tree_entries(
    template: TreeEntry, contestants: Sequence[str], runs: int
) -> list[TreeEntry]:
    """The runs of all contestants, seed by seed: cut off anywhere, all have as many."""
    facts = {**asdict(template), "data": template.data}
    return [
        TreeEntry(**{**facts, "contestant": contestant, "seed": seed})
        for seed in range(runs)
        for contestant in contestants
    ]


def race_on_tree(
    entries: Sequence[TreeEntry], folder: Path, processes: int, progress: Progress | None = None
) -> list[TreeRun]:
    """The runs, by entry; `folder` holds those made so far, and only the others are made."""
    return list(run_each(partial(run_or_read, folder), entries, processes, progress))


def run_or_read(folder: Path, entry: TreeEntry) -> TreeRun:
    """The run of an entry, read from `folder`, or made and left there."""
    problem = make_problem(entry.problem, entry.data)
    entry_facts = {key: value for key, value in asdict(entry).items() if key != "data"}
    key = digest([entry_facts, entry.setting, problem.facts, asdict(RECOMMENDED)])[:12]
    path = folder / f"{entry.problem}-{entry.contestant}-{entry.seed:03d}-{key}.json"
    if not path.exists():
        run = make_run(entry)
        write_json(path, {**entry_facts, "setting": entry.setting, **asdict(run)}, seed=entry.seed)
    run_facts = read_json(path)
    return TreeRun(
        tuple(run_facts["losses"]), tuple(run_facts["test_accuracy"]), run_facts["cpu_seconds"]
    )


def make_run(entry: TreeEntry) -> TreeRun:
    """The run of an entry.  Raises SearchError "peer-crashed" for a peer whose process ends without
    an answer."""
    if entry.contestant not in ALONE:
        return _make_run_here(entry)
    try:
        return run_alone(_make_run_here, entry)
    except BrokenProcessPool as broken_pool:
        raise SearchError(
            "peer-crashed",
            f"{entry.contestant}, seed {entry.seed} of {entry.problem}: its process ended without an "
            "answer; leave it out, or give another number of --runs",
        ) from broken_pool


def _make_run_here(entry: TreeEntry) -> TreeRun:
    """The run of an entry, in this process; what it costs are its CPU seconds without the trainings."""
    problem = make_problem(entry.problem, entry.data)
    answers: list[Answer] = []
    training_seconds = 0.0

    def train(configuration: Configuration) -> float | None:
        nonlocal training_seconds
        begin_seconds = time.process_time()
        answers.append(problem.train(configuration, training_seed(entry.seed, len(answers))))
        training_seconds += time.process_time() - begin_seconds
        return answers[-1].loss

    if entry.contestant in TREE_PEERS:
        for module in TREE_PEERS[entry.contestant].software.modules:
            import_module(module)
    begin_seconds = time.process_time()
    with one_thread():
        if entry.contestant in TREE_PEERS:
            TREE_PEERS[entry.contestant].search(problem, entry.seed, entry.trials, train)
        else:
            _search_by_method(problem, entry, train)
    all_seconds = time.process_time() - begin_seconds
    return TreeRun(
        tuple(answer.loss for answer in answers),
        tuple(answer.test_accuracy for answer in answers),
        max(0.0, all_seconds - training_seconds),
    )


def _search_by_method(problem: TreeProblem, entry: TreeEntry, train: Train) -> None:
    """A search of fovnet's; fewer trainings if the tree is exhausted."""
    search = TreeSearch(
        problem.tree, entry.contestant, entry.seed, entry.workers, None, problem.costs
    )
    proposals: list[Proposal] = []
    trial_by_slot: dict[int, Trial] = {}
    for slot in range(entry.trials):
        try:
            proposal = propose_slot(search, proposals, trial_by_slot)
        except SearchError as error:
            if error.code != "space-exhausted":
                raise
            break
        loss = train(proposal.configuration)
        outcome = Outcome("diverged")
        if loss is not None:
            outcome = Outcome("completed", score=loss)
        proposals.append(proposal)
        trial_by_slot[slot] = Trial(proposal, outcome)


@dataclass(frozen=True, eq=False)
class TreeContest:
    """The runs of one contestant; `entry` is that of any."""

    entry: TreeEntry
    runs: Sequence[TreeRun]

    @cached_property
    def curves(self) -> Floats:
        """(R, n) the lowest loss of each run after 1 ... n trainings."""
        return np.stack([run.lowest_losses(self.entry.trials) for run in self.runs])

    @property
    def test_accuracy(self) -> float | None:
        """The mean of the runs' best networks; None where there are no test pictures."""
        accuracies = [run.test_accuracy_of_best for run in self.runs]
        known_accuracies = [accuracy for accuracy in accuracies if accuracy is not None]
        if not known_accuracies:
            return None
        return float(np.mean(known_accuracies))

    def trainings_until(self, goal: float) -> int | None:
        """The first number of trainings after which the mean is as low as a goal; None: never."""
        reaching = np.flatnonzero(self.curves.mean(axis=0) <= goal)
        if not len(reaching):
            return None
        return int(reaching[0]) + 1


def compare_tree_contests(
    problem: TreeProblem, entries: Sequence[TreeEntry], runs: Sequence[TreeRun]
) -> list[dict[str, Any]]:
    """{column of COLUMNS: value} of each line: a contestant after some number of trainings.

    mean, se, worst  of the lowest losses of its runs; se: standard error of the mean
    difference       of the mean, to that of the first contestant, by seed
    cpu_seconds      of the proposals of a whole run, in the mean; trainings, test_accuracy likewise
    to_<peer>        trainings until its mean is as low as that of the peer in the end; None: never
    """
    runs_by_contestant: dict[str, list[TreeRun]] = {}
    entry_by_contestant = {entry.contestant: entry for entry in entries}
    for entry, run in zip(entries, runs, strict=True):
        runs_by_contestant.setdefault(entry.contestant, []).append(run)
    contests = [
        TreeContest(entry_by_contestant[name], contest_runs)
        for name, contest_runs in runs_by_contestant.items()
    ]
    goal_by_peer = {
        contest.entry.contestant: float(contest.curves[:, -1].mean())
        for contest in contests
        if contest.entry.contestant in TREE_PEERS
    }
    return [
        line
        for contest in contests
        for line in _lines_of_contest(problem, contest, contests[0], goal_by_peer)
    ]


def _lines_of_contest(
    problem: TreeProblem,
    contest: TreeContest,
    first_contest: TreeContest,
    goal_by_peer: Mapping[str, float],
) -> Iterator[dict[str, Any]]:
    """The lines of a contestant, compared with the first one."""
    facts = {
        "problem": problem.name,
        "method": contest.entry.contestant,
        "setting": contest.entry.setting,
        "runs": len(contest.runs),
        "cpu_seconds": float(np.mean([run.cpu_seconds for run in contest.runs])),
        "trainings": float(np.mean([len(run.losses) for run in contest.runs])),
        "test_accuracy": contest.test_accuracy,
        **{f"to_{peer}": contest.trainings_until(goal) for peer, goal in goal_by_peer.items()},
    }
    for count in counts_within(problem, contest.entry.trials):
        lowest = contest.curves[:, count - 1]
        differences = lowest - first_contest.curves[:, count - 1]
        yield {
            **facts,
            "after": count,
            "mean": float(lowest.mean()),
            "se": _standard_error(lowest),
            "worst": float(lowest.max()),
            "difference": float(differences.mean()),
            "difference_se": _standard_error(differences),
        }


def counts_within(problem: TreeProblem, trials: int) -> list[int]:
    """The numbers of trainings after which runs of so many are compared."""
    return [*(count for count in problem.counts if count < trials), trials]


def _standard_error(numbers: Floats) -> float:
    """Of the mean of (R,) numbers; 0 of a single one."""
    if len(numbers) < 2:
        return 0.0
    return float(numbers.std(ddof=1) / np.sqrt(len(numbers)))
