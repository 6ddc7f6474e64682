"""A device is found again from how long trainings took on it; what is kept records it, and is never replaced
unasked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fovnet.errors import SearchError
from fovnet.net.cost.calibration import (
    calibrate,
    probe_candidates,
    read_calibration,
    refit_with_trials,
    write_calibration,
)
from fovnet.net.cost.calibration_check import choose_held_out
from fovnet.net.cost.columns import Columns, columns_of_space
from fovnet.net.cost.finished import timings_of_finished_trials
from fovnet.net.cost.predicted import (
    DeviceSpeed,
    Work,
    predict_cost,
    predict_costs,
    predict_training_seconds,
)
from fovnet.net.cost.probes import ProbeBench
from fovnet.net.cost.speed import Timings, fit_device, log_misfit, repeat_number
from fovnet.net.family.architecture import Architecture
from fovnet.net.recipe import Ranges
from fovnet.records import write_json, write_npz
from fovnet.search.slot_files import slot_path
from fovnet.search.space import BASELINE_CONFIGURATION, Space, paper_space
from fovnet.search.trial import Outcome, Proposal, Trial, trial_to_facts

LAPTOP = DeviceSpeed(100.0, 20.0, 60.0, 10.0, 540.0, 16, 0.32)
CARD = DeviceSpeed(40_000.0, 2_000.0, 8.0, 1_500.0, 2.0, 32, 0.28)


@dataclass(frozen=True)
class Seconds:
    step_seconds: float
    validated_slice_seconds: float


@pytest.fixture(scope="module")
def space() -> Columns:
    return columns_of_space(paper_space(), classes=7, head="fc")


def seconds_on(device: DeviceSpeed, rows: Columns, work: Work) -> np.ndarray:
    return predict_training_seconds(predict_costs(rows), rows.batch, work, device)


def pretend(device: DeviceSpeed, noise: float = 0.0):
    """A probe with the seconds of a device that is exactly as described, but for so much lognormal noise."""
    rng = np.random.default_rng(0)

    def probe(net: Architecture, batch: int) -> Seconds:
        cost, factor = predict_cost(net), np.exp(noise * rng.normal(size=2))
        step = predict_training_seconds(cost, batch, Work(batch, 0, 1), device)
        both = predict_training_seconds(cost, batch, Work(batch, 1000, 1), device)
        return Seconds(float(step) * factor[0], float(both - step) / 1000 * factor[1])

    return probe


@pytest.mark.parametrize("device", [LAPTOP, CARD], ids=["laptop", "card"])
def test_the_prices_of_a_device_are_found_again_from_exact_seconds(
    device: DeviceSpeed, space: Columns
) -> None:
    rows = space.select(np.random.default_rng(1).permutation(len(space))[:60])
    nothing = repeat_number(0, len(rows))
    work = Work(rows.batch, nothing, nothing + 1)
    found = fit_device(Timings(rows, work, seconds_on(device, rows, work)))
    assert found.filters_at_once == device.filters_at_once
    np.testing.assert_allclose(found.prices, device.prices, rtol=0.02)


def test_one_training_on_a_busy_machine_does_not_move_the_others(space: Columns) -> None:
    rows = space.select(np.random.default_rng(2).permutation(len(space))[:40])
    nothing = repeat_number(0, len(rows))
    timed = Timings(
        rows, work := Work(rows.batch, nothing, nothing + 1), seconds_on(LAPTOP, rows, work)
    )
    busy = replace(
        timed,
        measured_seconds=timed.measured_seconds * np.where(np.arange(len(rows)) == 7, 10.0, 1.0),
    )
    assert np.median(abs(log_misfit(fit_device(busy), timed))) < 0.02


def calibrated(
    rows: Columns, device: DeviceSpeed, noise: float = 0.0
) -> tuple[int, float, np.ndarray]:
    """How many networks a calibration timed, the seconds that took on the device, and predicted over real
    seconds of all rows."""
    spent, probe = [0.0], pretend(device, noise)

    def timed(net: Architecture, batch: int) -> Seconds:
        probed = probe(net, batch)
        spent[0] += 4 * probed.step_seconds + 64 * probed.validated_slice_seconds
        return probed

    found = calibrate(rows, timed, "pretended", clock=lambda: spent[0])
    nothing = repeat_number(0, len(rows))
    work = Work(8000 + nothing, 500 + nothing, 3 + nothing)
    return (
        len(found.probes),
        spent[0],
        seconds_on(found.speed, rows, work) / seconds_on(device, rows, work),
    )


@pytest.mark.parametrize("device", [LAPTOP, CARD], ids=["laptop", "card"])
def test_a_short_calibration_predicts_the_whole_space(device: DeviceSpeed, space: Columns) -> None:
    """Sixteen networks timed with 5 % of noise, none for longer than its share of 45 seconds: nine in ten of
    all 4,900 within 25 %."""
    networks, seconds, ratio = calibrated(probe_candidates(space), device, noise=0.05)
    assert networks == 16 and seconds < 90
    assert (abs(ratio - 1) < 0.25).mean() >= 0.9


def test_a_device_however_slow_is_calibrated_by_networks_that_take_nearly_least(
    space: Columns,
) -> None:
    """A thousandth of a laptop: as many networks as there are prices, and nine in ten of all 4,900 within 30
    %."""
    networks, _, ratio = calibrated(
        probe_candidates(space), DeviceSpeed(0.1, 0.02, 60_000.0, 0.01, 540_000.0, 16, 0.32)
    )
    assert networks == 5
    assert (abs(ratio - 1) < 0.3).mean() >= 0.9


def test_calibrations_that_can_tell_nothing_are_refused(space: Columns) -> None:
    with pytest.raises(SearchError, match=r"only 0 networks of the space fit into 1e-06 GB"):
        calibrate(space, pretend(LAPTOP), "x", largest_bytes=1e3)


def test_a_small_space_is_timed_together_with_the_papers() -> None:
    levels = {
        "blocks": [5],
        "convolutions": [1],
        "log2_filters": [2, 3],
        "kernel": [3],
        "separable": [False],
        "log10_learning_rate": [-3, -2],
        "log2_batch": [3],
    }
    own = columns_of_space(Space.of(levels), classes=7, head="gap")
    assert len(own) == 4 and len(own.distinct()) == 2
    assert len(probe_candidates(own)) == 4900


def test_a_calibration_reads_back_as_it_was_written(tmp_path: Path, space: Columns) -> None:
    known = calibrate(space, pretend(LAPTOP), "pretended")
    path = write_calibration(tmp_path / "calibration.json", known, settings=None, seed=3)
    assert read_calibration(path) == known
    path.write_text("{}")
    with pytest.raises(SearchError, match="unreadable"):
        read_calibration(path)
    path.unlink()
    with pytest.raises(SearchError, match="fovnet calibrate"):
        read_calibration(path)


def test_finished_trials_move_the_fit_towards_what_they_took(space: Columns) -> None:
    """Trials on a device that is busier than when it was calibrated: half as fast in everything."""
    known = calibrate(space, pretend(LAPTOP), "pretended")
    rows = space.select(np.random.default_rng(5).permutation(len(space))[:60])
    nothing = repeat_number(0, len(rows))
    work = Work(nothing + 4000, nothing + 500, nothing + 4)
    truth = 2 * seconds_on(LAPTOP, rows, work)
    after = refit_with_trials(known, Timings(rows, work, truth))
    assert after.trial_count == 60 and len(after.probes) == 16
    before, then = (
        np.median(abs(np.log(seconds_on(one.speed, rows, work) / truth))) for one in (known, after)
    )
    assert then < before / 2


def test_trials_that_were_shown_something_else_move_nothing(space: Columns) -> None:
    """Four channels take longer than the one that the networks of the calibration were shown."""
    known = calibrate(space, pretend(LAPTOP), "pretended")
    rows = replace(space.select(np.arange(10)), inputs=("slice", "neighbours"))
    work = Work(repeat_number(400, 10), repeat_number(50, 10), repeat_number(1, 10))
    message = (
        r"inputs slice and 7 classes, but the trials have inputs slice, neighbours and 7 "
        r".*calibration-other-inputs"
    )
    with pytest.raises(SearchError, match=message):
        refit_with_trials(known, Timings(rows, work, np.ones(10)))


def test_held_out_networks_were_not_timed_and_are_of_all_widths(space: Columns) -> None:
    known = calibrate(space, pretend(LAPTOP), "pretended")
    chosen = choose_held_out(probe_candidates(space), known, 20, seed=1)
    timed = {
        (
            tuple(
                probe[name]
                for name in ("blocks", "convolutions", "log2_filters", "kernel", "separable")
            ),
            probe["batch"],
        )
        for probe in known.probes
    }
    nets = [chosen.architecture(row) for row in range(len(chosen))]
    assert len(nets) == 20 and len(set(chosen.filters)) >= 4
    for net, batch in zip(nets, chosen.batch, strict=True):
        assert (
            (net.blocks, net.convolutions, net.log2_filters, net.kernel, net.separable),
            int(batch),
        ) not in timed


@pytest.mark.parametrize("side", [32, 128])
def test_a_real_network_is_timed_by_the_code_that_trains_it(side: int) -> None:
    bench = ProbeBench(
        torch.device("cpu"), Ranges(10, 0.05, 0.05, 0.1, 0.02), classes=3, slices=16, side=side
    )
    nets = (
        Architecture(5, 1, 2, 3, False, 3, "gap", side),
        Architecture(5, 2, 4, 5, False, 3, "gap", side),
    )
    small, large = (bench.time_network(net, 4) for net in nets)
    assert 0 < small.step_seconds < large.step_seconds
    assert 0 < small.validated_slice_seconds < large.validated_slice_seconds
    assert small.steps >= 3 and small.peak_bytes == 0


def test_a_training_that_went_on_is_timed_by_the_epochs_of_each_slot(tmp_path: Path) -> None:
    """Three slots of one training: an epoch, two more, and none, since it had ended on a plateau; one of
    another device."""
    curve, ran = (
        (1.0, 0.9, 0.8),
        [
            (None, 0, 1, 2.0, "cpu"),
            (0, 1, 3, 5.0, "cpu"),
            (1, 3, 3, 0.1, "cpu"),
            (None, 0, 1, 9.0, "gpu"),
        ],
    )
    for slot, (before, begun, done, seconds, device) in enumerate(ran):
        proposal = Proposal(
            slot, 0, BASELINE_CONFIGURATION, 0, (), (), 1.0, None, 3**slot, before, begun, 0, slot
        )
        outcome = Outcome(
            "completed", curve[:done], curve[:done], curve[done - 1], seconds, device=device
        )
        write_json(slot_path(tmp_path, slot), trial_to_facts(Trial(proposal, outcome)))
    write_npz(tmp_path / "rows.npz", targets=np.zeros((4, 7)), validation=np.arange(50))
    timed = timings_of_finished_trials(tmp_path, "cpu", head="fc", slices_per_epoch=100)
    assert timed.work.epochs.tolist() == [1, 2] and timed.measured_seconds.tolist() == [2.0, 5.0]
