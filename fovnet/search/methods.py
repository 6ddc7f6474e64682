"""The search methods by their names in a configuration file: where to look, and how much to
spend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fovnet.choices import SpendKind
from fovnet.search.look.a_mads import choose_by_a_dogs, choose_by_a_mads
from fovnet.search.look.ensemble import choose_by_ensemble
from fovnet.search.look.entropic import (
    choose_by_entropy_portfolio,
    choose_by_entropy_search,
    choose_by_max_value_entropy,
)
from fovnet.search.look.gaussian import (
    choose_by_confidence_bound,
    choose_by_improvement_probability,
    choose_by_thompson_draw,
)
from fovnet.search.look.grid import choose_on_lattice
from fovnet.search.look.improvement import choose_by_expected_improvement, choose_by_single_model
from fovnet.search.look.mads import choose_by_mads
from fovnet.search.look.pool import on_pool
from fovnet.search.look.ranking import choose_by_ranking
from fovnet.search.look.rgpe import choose_by_taught_processes
from fovnet.search.look.tpe import STARTUPS, choose_by_parzen
from fovnet.search.look.tree_a_mads import choose_by_a_dogs_in_tree, choose_by_a_mads_in_tree
from fovnet.search.look.tree_mads import choose_by_mads_in_tree
from fovnet.search.look.tree_tpe import choose_by_parzen_in_tree
from fovnet.search.look.tree_uniform import draw_in_tree
from fovnet.search.look.tree_view import TreeLook
from fovnet.search.look.uniform import choose_uniformly
from fovnet.search.look.view import Look


class Method(NamedTuple):
    """Where a method looks, and how much it spends unless the configuration says otherwise; any
    goes with any.  Where it looks in a tree, None if it needs a finite space."""

    look: Look
    spend: SpendKind = "full"
    tree_look: TreeLook | None = None


METHODS: Mapping[str, Method] = {
    "grid": Method(choose_on_lattice),
    "random": Method(choose_uniformly, tree_look=draw_in_tree),
    "gp-ei": Method(
        choose_by_expected_improvement, tree_look=on_pool(choose_by_expected_improvement)
    ),
    "gp-pi": Method(
        choose_by_improvement_probability, tree_look=on_pool(choose_by_improvement_probability)
    ),
    "gp-lcb": Method(choose_by_confidence_bound, tree_look=on_pool(choose_by_confidence_bound)),
    "gp-ts": Method(choose_by_thompson_draw, tree_look=on_pool(choose_by_thompson_draw)),
    "tpe": Method(choose_by_parzen, tree_look=choose_by_parzen_in_tree),
    "gp-mes": Method(choose_by_max_value_entropy),
    "gp-es": Method(choose_by_entropy_search),
    "gp-esp": Method(choose_by_entropy_portfolio),
    "hyperband": Method(choose_uniformly, "hyperband", draw_in_tree),
    "gp-hyperband": Method(choose_by_single_model, "hyperband", on_pool(choose_by_single_model)),
    "mads": Method(choose_by_mads, tree_look=choose_by_mads_in_tree),
    "a-mads": Method(choose_by_a_mads, tree_look=choose_by_a_mads_in_tree),
    "a-dogs": Method(choose_by_a_dogs, tree_look=choose_by_a_dogs_in_tree),
    "ranking": Method(choose_by_ranking),
    "ensemble-ei": Method(choose_by_ensemble, tree_look=on_pool(choose_by_ensemble)),
    "gp-rgpe": Method(choose_by_taught_processes),
}
POLLING_METHODS = ("mads", "a-mads")
DIRECT_METHODS = (*POLLING_METHODS, "a-dogs")
"""Methods that `Polling` is for."""

FIRST_SLOTS: Mapping[str, int] = {"tpe": STARTUPS, "mads": 3, "a-mads": 3, "a-dogs": 3}
"""Number of first slots without a model, where it is not that of `default_initial_count`."""
FIRST_POINTS: Mapping[str, int] = {"tpe": STARTUPS}
"""On a tree, where it is not DEFAULT_FIRST_POINTS."""
DEFAULT_FIRST_POINTS = 10
