"""The search methods by the names they have in a configuration file."""

from __future__ import annotations

from collections.abc import Mapping

from fovnet.search.expected_improvement import expected_improvement
from fovnet.search.uniform import uniform
from fovnet.search.view import Propose

METHODS: Mapping[str, Propose] = {
    "random": uniform,
    "gp-ei":  expected_improvement,
}
