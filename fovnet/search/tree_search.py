"""The definition of a search over a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import SearchError
from fovnet.machine.threads import one_thread
from fovnet.search.clock import LEAD, SlotsInSight
from fovnet.search.look.neighbour_rules import level_rules
from fovnet.search.look.tree_view import TreeView
from fovnet.search.look.view import POLLING, RECOMMENDED, Modelling, Polling
from fovnet.search.methods import DEFAULT_FIRST_POINTS, DIRECT_METHODS, FIRST_POINTS, METHODS
from fovnet.search.search import AnySearch, Pick, Sight
from fovnet.search.spend.ledger import LedgerEntry
from fovnet.search.spend.schedule import FULL, Schedule
from fovnet.search.tree.costs import Costs, columns_of
from fovnet.search.tree.first_point import describe_start_fault, draw_first_point
from fovnet.search.tree.moves import Ground
from fovnet.search.tree.tree import Configuration, Tree, written_form
from fovnet.search.trial import Proposal, Trial

Floats = NDArray[np.float64]


class _BegunPoint(NamedTuple):
    """A proposal, kept so that no other gets its id, and its point (d,)."""

    proposal: Proposal
    point: Floats


@dataclass(frozen=True, eq=False)
class TreeSearch(AnySearch):
    """A search over a tree, whose rows are its points in the order in which they are begun.

    initial    number of slots drawn before the model is used, the first included; None: that of the
               method, 10 or 20
    costs      which points fit, and what they cost
    The others as in `Search`.  Raises SearchError as that, "search-method" for a method that needs a
    finite space, and "no-feasible-row" if neither the start fits nor any of MOST_DRAWN points; and
    ConfigError as `level_rules`.
    """

    tree: Tree
    method: str
    seed: int
    workers: int
    initial: int | None
    costs: Costs
    modelling: Modelling = RECOMMENDED
    lead: float = LEAD
    schedule: Schedule = FULL
    polling: Polling = POLLING

    def __post_init__(self) -> None:
        self.refuse_settings()
        if METHODS[self.method].tree_look is None:
            tree_methods = [name for name, method in METHODS.items() if method.tree_look]
            raise SearchError(
                "search-method",
                f"search.method: {self.method} takes no tree; choose one of {', '.join(tree_methods)}, or "
                "give every variable a list of levels.",
            )
        level_rules(self.tree, self.polling)
        _ = self._first_configuration  # raises where nothing fits

    @property
    def first_slots(self) -> int:
        """The number of slots drawn before the model is used."""
        return self.initial or FIRST_POINTS.get(self.method, DEFAULT_FIRST_POINTS)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """The facts that must be equal for two runs to be the same search."""
        facts: dict[str, Any] = {
            "method": self.method,
            "seed": self.seed,
            "workers": self.workers,
            "initial": self.initial,
            "lead": self.lead,
            "first_slots": self.first_slots,
            "modelling": self.modelling_facts,
            "tree": self.tree.facts,
            "costs": dict(self.costs.facts),
        }
        facts |= self.schedule.facts
        if self.method in DIRECT_METHODS:
            facts["polling"] = self.polling.facts
        return facts

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """None: points are worked out."""
        return {}

    @property
    def size_in_words(self) -> str:
        """ "tree of 65 variables, 53 at most active"."""
        return self.tree.size_in_words

    @property
    def axis_count(self) -> int:
        """The number of variables of the start."""
        return len(self.tree.configuration(self.tree.start_point))

    @property
    def row_limit(self) -> None:
        """Unknown."""

    @cached_property
    def _first_configuration(self) -> Configuration:
        """The start if it fits, else what is drawn in its place."""
        return self.tree.configuration(draw_first_point(self.tree, self.costs, self.seed))

    @property
    def start_note(self) -> str | None:
        """A sentence if the start does not fit."""
        fault_sentence = describe_start_fault(self.tree, self.costs)
        if fault_sentence is None:
            return None
        return (
            f"The start does not fit ({fault_sentence}); the search starts at the first configuration drawn "
            f"that does, {self._first_configuration}."
        )

    def has_free_rows(self, earlier: Sequence[Proposal]) -> bool:
        """Whether fewer points were begun than there are; whether one of the others fits, only draws
        tell."""
        begun_count = sum(proposal.continued_slot is None for proposal in earlier)
        return begun_count < self.tree.point_count

    def _pick_of(self, row: int, configuration: Configuration) -> Pick:
        """A configuration, and its predicted seconds."""
        return Pick(row, configuration, float(self.costs(columns_of([configuration])).seconds[0]))

    def first_pick(self) -> Pick:
        """The start, or what was drawn in its place."""
        return self._pick_of(0, self._first_configuration)

    def continued_pick(self, proposal: Proposal) -> Pick:
        """The point of a proposal."""
        return self._pick_of(proposal.row, proposal.configuration)

    def next_pick(
        self, earlier: Sequence[Proposal], sight: Sight, stopped_entries: Sequence[LedgerEntry]
    ) -> Pick | None:
        """The choice of the method's TreeLook; None if nothing is free."""
        points = self._begun_points(earlier)
        view = self._view(earlier, sight, points, tuple(entry.row for entry in stopped_entries))
        tree_look = METHODS[self.method].tree_look
        # the same bits on every number of cores, and no competition with running trainings
        with one_thread():
            choice = tree_look(view) if tree_look else None
        if choice is None:
            return None
        row_by_point = {point.tobytes(): row for row, point in enumerate(points)}
        row = row_by_point.get(choice.point.tobytes(), len(points))
        pick = self._pick_of(row, self.tree.configuration(choice.point))
        return pick._replace(forecast=choice.forecast, step=choice.step)

    def _begun_points(self, earlier: Sequence[Proposal]) -> Floats:
        """(b, d) the points begun, by row."""
        begun = [proposal for proposal in earlier if proposal.continued_slot is None]
        for proposal in begun:
            if id(proposal) not in self._begun_by_id:
                point = self.tree.point(proposal.configuration)
                self._begun_by_id[id(proposal)] = _BegunPoint(proposal, point)
        points = [self._begun_by_id[id(proposal)].point for proposal in begun]
        return np.array(points).reshape(len(points), len(self.tree))

    @cached_property
    def _begun_by_id(self) -> dict[int, _BegunPoint]:
        """The points read before: 1,000 take half a second."""
        return {}

    def view_at_the_end(self, trials: Sequence[Trial]) -> TreeView:
        """What a slot would see after all of these trials, whose rows count their points."""
        earlier = [trial.proposal for trial in trials]
        slots = SlotsInSight(tuple(proposal.slot for proposal in earlier), pending_slots=())
        return self._view(earlier, Sight(tuple(trials), slots), self._begun_points(earlier), ())

    def _view(
        self,
        earlier: Sequence[Proposal],
        sight: Sight,
        points: Floats,
        stopped_rows: tuple[int, ...],
    ) -> TreeView:
        """What the next slot sees of the search."""
        seen_rows = {trial.proposal.row for trial in sight.trials}
        pending_rows = [earlier[slot].row for slot in sight.slots.pending_slots]
        rung_epochs: tuple[int, ...] = ()
        if self.schedule.kind != "full":
            rung_epochs = self.schedule.rungs
        return TreeView(
            self.tree,
            self.costs,
            points,
            trials=sight.trials,
            pending_rows=tuple(row for row in pending_rows if row not in seen_rows),
            stopped_rows=stopped_rows,
            slot=len(earlier),
            seed=self.seed,
            initial_count=self.first_slots,
            modelling=self.modelling,
            polling=self.polling,
            rung_epochs=rung_epochs,
        )

    def recorded_pick(self, earlier: Sequence[Proposal], proposal: Proposal) -> Pick | None:
        """The point of a proposal, None unless it is written canonically, fits, and was not begun; one
        that continues another must be of its point."""
        pick = self._pick_of(proposal.row, proposal.configuration)
        pick = pick._replace(forecast=proposal.forecast, step=proposal.step)
        text = written_form(proposal.configuration)
        if proposal.continued_slot is not None:
            is_same = text == written_form(earlier[proposal.continued_slot].configuration)
            return pick if is_same else None
        try:
            point = self.tree.point(proposal.configuration)
        except ValueError:
            return None
        points = self._begun_points(earlier)
        is_begun = point.tobytes() in {begun_point.tobytes() for begun_point in points}
        is_canonical = text == written_form(self.tree.configuration(point))
        if is_begun or not is_canonical or proposal.row != len(points):
            return None
        if Ground(self.tree, self.costs).price(point[None]).faults[0] is not None:
            return None
        return pick
