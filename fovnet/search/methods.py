"""The search methods by their names in a configuration file."""

from __future__ import annotations

from collections.abc import Mapping

from fovnet.search.entropic import entropy_search, entropy_search_portfolio, max_value_entropy
from fovnet.search.gaussian import confidence_bound, expected_improvement, probability_of_improvement, thompson
from fovnet.search.grid import lattice
from fovnet.search.tpe import STARTUPS, parzen
from fovnet.search.uniform import uniform
from fovnet.search.view import Propose

METHODS: Mapping[str, Propose] = {
    "grid":   lattice,
    "random": uniform,
    "gp-ei":  expected_improvement,
    "gp-pi":  probability_of_improvement,
    "gp-lcb": confidence_bound,
    "gp-ts":  thompson,
    "tpe":    parzen,
    "gp-mes": max_value_entropy,
    "gp-es":  entropy_search,
    "gp-esp": entropy_search_portfolio,
}

FIRST_SLOTS: Mapping[str, int] = {"tpe": STARTUPS}
"""Slots without a model before it is asked, where a method's are not given by `few`."""
