"""The costs of a configuration's networks on its device, and short trainings that measure the
device."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fovnet.acts.finished_search import journal_of_same_training
from fovnet.acts.search_space import search_space, search_tree
from fovnet.acts.slices import load_slices
from fovnet.config.models import Settings
from fovnet.config.regions import vocabulary
from fovnet.config.search import TreeLimits
from fovnet.late import import_late
from fovnet.machine.allocation import keep_freed_memory
from fovnet.net.cost.calibration import read_calibration
from fovnet.net.cost.finished import timings_of_finished_trials
from fovnet.net.cost.layered import LayeredCosts
from fovnet.net.cost.predicted import DeviceSpeed, Limits, Work
from fovnet.net.cost.prices import Prices, predict_prices
from fovnet.net.cost.speed import Timings
from fovnet.net.cost.tree_prices import TreePrices, sample_prices
from fovnet.net.device import choose_device
from fovnet.net.recipe import Ranges
from fovnet.results import Results
from fovnet.search.space import Space
from fovnet.search.tree.first_point import draw_first_point
from fovnet.volume.slices.resizing import SIDE_PIXELS

if TYPE_CHECKING:
    from fovnet.net.cost import probes
else:  # torch
    probes = import_late("fovnet.net.cost.probes")


def configured_speed(settings: Settings) -> DeviceSpeed:
    """The device in the cost model: as configured, or as calibrated."""
    speed_setting = settings.search.speed
    if isinstance(speed_setting, str):
        return read_calibration(Results(Path(settings.results)).calibration).speed
    return DeviceSpeed(**speed_setting.model_dump())


def price_search(settings: Settings, device: DeviceSpeed | None = None) -> Prices:
    """Every configuration priced, with slices as `count_validation_slices`."""
    class_count = len(vocabulary(settings.regions).classes)
    return price_space(
        settings,
        search_space(settings),
        classes=class_count,
        validation_slices=count_validation_slices(settings),
        device=device or configured_speed(settings),
    )


def count_validation_slices(settings: Settings) -> int:
    """The number of slices that a training is validated on: that of the settings, at most that of the
    pack; without the setting it is that of the pack, and without both 0."""
    validation_slices = settings.training.validation_slices
    if (Path(settings.results) / "slices" / "slices.npz").exists():
        slices_in_pack = len(load_slices(settings).rows_in_split("validation"))
        if validation_slices is None:
            validation_slices = slices_in_pack
        validation_slices = min(validation_slices, slices_in_pack)
    return validation_slices or 0


def costs_of_layers(
    settings: Settings, *, classes: int, validation_slices: int, device: DeviceSpeed
) -> LayeredCosts:
    """The costs of the points of a tree, within the limits of the settings."""
    training = settings.training
    search = settings.search
    limits = search.limits or TreeLimits()
    return LayeredCosts(
        classes=classes,
        side=SIDE_PIXELS,
        inputs=tuple(training.inputs),
        work=Work(training.slices_per_epoch, validation_slices, training.epochs),
        speed=device,
        limits=Limits(search.memory_limit_gb * 1e9, search.seconds_limit),
        most_weights=limits.weights,
        most_multiply_adds=limits.multiply_adds,
        keeps_average=training.averaging > 0,
    )


def price_tree(settings: Settings) -> TreePrices:
    """A sample of the points of the settings' tree, priced, and its start.  On a device that is not
    measured yet seconds are of another one, and not limited.  Raises SearchError "no-feasible-row"
    where a search would."""
    device = DeviceSpeed(1.0, 1.0, 1.0)
    calibration = Results(Path(settings.results)).calibration
    if not isinstance(settings.search.speed, str) or calibration.exists():
        device = configured_speed(settings)
    else:
        search_without_limit = settings.search.model_copy(update={"seconds_limit": None})
        settings = settings.model_copy(update={"search": search_without_limit})
    costs = costs_of_layers(
        settings,
        classes=len(vocabulary(settings.regions).classes),
        validation_slices=count_validation_slices(settings),
        device=device,
    )
    tree = search_tree(settings)
    prices = sample_prices(tree, costs, settings.seed)
    if prices.start_fault is not None and not len(prices.seconds):
        # draws copies anew, too, before it says that nothing fits
        draw_first_point(tree, costs, settings.seed)
    return prices


def price_space(
    settings: Settings,
    space: Space,
    *,
    classes: int,
    validation_slices: int,
    device: DeviceSpeed,
    side: int = 128,
) -> Prices:
    """The rows of a space, priced for slices of this side."""
    training = settings.training
    search = settings.search
    return predict_prices(
        space,
        classes=classes,
        head=training.head,
        inputs=training.inputs,
        keeps_average=training.averaging > 0,
        speed=device,
        work=Work(training.slices_per_epoch, validation_slices, training.epochs),
        limits=Limits(search.memory_limit_gb * 1e9, search.seconds_limit),
        side=side,
    )


def count_fitting(settings: Settings) -> int:
    """The number of configurations within the limits; if the device is not measured yet, within
    that of memory.  Raises SearchError if it is 0."""
    assumed_device = None
    calibration = Results(Path(settings.results)).calibration
    is_to_be_measured = settings.search.speed == "measure" and not calibration.exists()
    if is_to_be_measured:
        # any speed: memory does not depend on it
        assumed_device = DeviceSpeed(1.0, 1.0, 1.0)
        search_without_limit = settings.search.model_copy(update={"seconds_limit": None})
        settings = settings.model_copy(update={"search": search_without_limit})
    space_prices = price_search(settings, assumed_device)
    space_prices.refuse_where_nothing_fits()
    return int(space_prices.fits_limits.sum())


def make_probe_bench(settings: Settings, side: int = 128) -> probes.ProbeBench:
    """A bench on the configured device, with threads and memory allocation set as in a worker."""
    import torch

    torch.set_num_threads(1)
    keep_freed_memory()
    training = settings.training
    return probes.ProbeBench(
        choose_device(training.device),
        Ranges(**training.augmentation.model_dump()),
        len(vocabulary(settings.regions).classes),
        side=side,
        precision=training.precision,
    )


def timings_of_same_training(settings: Settings, folder: Path, device_name: str) -> Timings:
    """The completed trials of a results folder that ran on this device.  Raises SearchError as
    `journal_of_same_training` and `timings_of_finished_trials`."""
    training = settings.training
    return timings_of_finished_trials(
        journal_of_same_training(settings, folder),
        device_name,
        head=training.head,
        slices_per_epoch=training.slices_per_epoch,
        inputs=training.inputs,
    )
