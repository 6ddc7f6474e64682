"""People simulated, and all volumes cut into slices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fovnet.acts.run import ProgressBar, Run, silent_progress
from fovnet.commands import simulating
from fovnet.errors import ConfigError
from fovnet.evaluate import finished_run
from fovnet.phantom.collection import simulate_collection
from fovnet.regions import simulated_chain
from fovnet.volume.collection.identity import read_identifiers
from fovnet.volume.collection.pack import Pack, slice_collections
from fovnet.volume.slices.stack import Slicing


def simulate_people(run: Run, workers: int, progress: ProgressBar = silent_progress) -> Path:
    """The tables of the simulated people that the configuration asks for, as `fovnet phantom` makes
    them."""
    phantom = run.settings.phantom
    with progress("simulating") as advance:
        return simulate_collection(
            run.results.phantom,
            subjects=phantom.subjects,
            volumes_per_subject=phantom.volumes_per_subject,
            seed=run.settings.seed,
            workers=workers,
            without=phantom.without,
            chain=simulated_chain(run.network_vocabulary),
            progress=advance,
        )


def cut_slices(
    run: Run,
    *,
    workers: int = 1,
    prune_cache: bool = False,
    progress: ProgressBar = silent_progress,
    log: Callable[[str], None] = lambda line: None,
) -> Pack:
    """The slices of all collections, subjects split.  Raises ConfigError "phantom-missing" where
    simulated people are still to be made."""
    settings = run.settings
    results = run.results
    folder_by_collection = finished_run.collections_of(settings, results)
    if results.is_to_simulate(settings.phantom.subjects):
        raise ConfigError(
            "phantom-missing",
            f"{results.phantom}: the simulated people of {run.config} do not exist yet; "
            f"make them: {simulating(settings)}",
        )
    with progress("slicing") as advance:
        pack = slice_collections(
            folder_by_collection,
            results.slices,
            vocabulary=run.network_vocabulary,
            slicing=Slicing(**settings.prepare.slicing),
            seed=settings.seed,
            fractions=settings.prepare.split,
            workers=workers,
            identifiers=read_identifiers(settings.identifiers, results.folder),
            prune_cache=prune_cache,
            progress=advance,
            log=log,
        )
    for name in ("training_pack", "pack"):  # what was read before is of the slices before
        vars(run).pop(name, None)
    return pack
