"""The search methods by their names in a configuration file: where to look, and how much to
spend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fovnet.search.look.a_mads import adogs_and_mads
from fovnet.search.look.ensemble import ensemble_improvement
from fovnet.search.look.entropic import entropy_search, entropy_search_portfolio, max_value_entropy
from fovnet.search.look.gaussian import (
    confidence_bound,
    expected_improvement,
    probability_of_improvement,
    thompson,
)
from fovnet.search.look.grid import lattice
from fovnet.search.look.mads import mads
from fovnet.search.look.ranking import best_ranked
from fovnet.search.look.rgpe import taught_improvement
from fovnet.search.look.tpe import STARTUPS, parzen
from fovnet.search.look.uniform import uniform
from fovnet.search.look.view import Look
from fovnet.search.spend.schedule import Kind


class Method(NamedTuple):
    """Where a method looks, and how much it spends unless the configuration says otherwise; any
    goes with any."""

    look: Look
    spend: Kind = "full"


METHODS: Mapping[str, Method] = {
    "grid": Method(lattice),
    "random": Method(uniform),
    "gp-ei": Method(expected_improvement),
    "gp-pi": Method(probability_of_improvement),
    "gp-lcb": Method(confidence_bound),
    "gp-ts": Method(thompson),
    "tpe": Method(parzen),
    "gp-mes": Method(max_value_entropy),
    "gp-es": Method(entropy_search),
    "gp-esp": Method(entropy_search_portfolio),
    "hyperband": Method(uniform, "hyperband"),
    "gp-hyperband": Method(expected_improvement, "hyperband"),
    "mads": Method(mads),
    "a-mads": Method(adogs_and_mads),
    "ranking": Method(best_ranked),
    "ensemble-ei": Method(ensemble_improvement),
    "gp-rgpe": Method(taught_improvement),
}
POLLING_METHODS = ("mads", "a-mads")

FIRST_SLOTS: Mapping[str, int] = {"tpe": STARTUPS, "mads": 3, "a-mads": 3}
"""Number of first slots without a model, if a method's is not given by `few`."""
