"""What earlier searches taught, as a search of these settings uses it."""

from __future__ import annotations

from pathlib import Path

from fovnet.config.models import Settings
from fovnet.errors import SearchError
from fovnet.results import Results
from fovnet.search.prior import Prior, read_prior
from fovnet.search.space import Space


def prior_path(settings: Settings) -> Path | None:
    """The file of what earlier searches taught, as named, or to be learned from `learn_from`; None
    without either."""
    if settings.search.learn_from:
        return Results(Path(settings.results)).prior
    return Path(settings.search.prior) if settings.search.prior else None


def read_search_prior(settings: Settings, space: Space) -> Prior | None:
    """What earlier searches taught, if it is to be used.  Raises SearchError as `read_prior`, and
    "prior-missing" where it is still to be learned."""
    prior_file = prior_path(settings)
    if prior_file is None:
        return None
    if settings.search.learn_from and not prior_file.exists():
        raise SearchError(
            "prior-missing",
            f"{prior_file}: nothing learned yet from {', '.join(settings.search.learn_from)}; `fovnet "
            "search learn --config CONFIG` does that, or leave search.learn_from out.",
        )
    return read_prior(prior_file, space.axes)
