"""a-mads and a-dogs on a tree: mads with a global search in every other slot, or in all, among the
points of a pool."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fovnet.search.look.a_mads import FEWEST_SCORES, ScatteredLosses, reach_for_target
from fovnet.search.look.pool import best_rows, pool_of
from fovnet.search.look.tree_mads import (
    choose_by_mads_in_tree,
    points_sure_to_fit,
    structures_of,
)
from fovnet.search.look.tree_view import Floats, TreeChoice, TreeView
from fovnet.search.tree.encoding import encode


def choose_by_a_mads_in_tree(view: TreeView) -> TreeChoice | None:
    """A global search in slots whose number `every` divides, once three trials have a score; else, or
    where it finds no point, as `choose_by_mads_in_tree`."""
    begun_count = len(view.points)
    has_enough_scores = int(np.isfinite(view.all_losses.losses).sum()) >= FEWEST_SCORES
    is_search_slot = begun_count % view.polling.every == 0
    if begun_count >= view.initial_count and is_search_slot and has_enough_scores:
        candidates = _candidates(view)
        if len(candidates):
            return TreeChoice(candidates[_search_globally(view, candidates)], step="search")
    return choose_by_mads_in_tree(view)


def choose_by_a_dogs_in_tree(view: TreeView) -> TreeChoice | None:
    """As `choose_by_a_mads_in_tree`, with a global search in every slot."""
    return choose_by_a_mads_in_tree(replace(view, polling=replace(view.polling, every=1)))


def _candidates(view: TreeView) -> Floats:
    """(m, d) the points of the pool that are sure to fit; if categories are fixed, those with the
    structure of the best point."""
    candidates = points_sure_to_fit(view, pool_of(view))
    if view.polling.categories == "free":
        return candidates
    best_structure, *structures = structures_of(
        view.tree, np.concatenate([view.points[best_rows(view)[:1]], candidates])
    )
    return candidates[[structure == best_structure for structure in structures]]


def _search_globally(view: TreeView, candidates: Floats) -> int:
    """The number of the candidate (m, d) where the interpolant may reach the target."""
    finished_rows, losses = view.all_losses
    begun_points = encode(view.tree, view.points)
    scattered_losses = ScatteredLosses(begun_points[finished_rows], losses, begun_points)
    return reach_for_target(
        scattered_losses, encode(view.tree, candidates), view.polling.target_step
    )
