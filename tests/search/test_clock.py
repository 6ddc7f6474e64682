"""The virtual clock against an event-by-event simulation of W people at W desks."""

import numpy as np
from hypothesis import given, settings
from hypothesis.strategies import floats, integers, lists, one_of

from fovnet.search.clock import Clock

SECONDS = lists(one_of(integers(1, 5).map(float), floats(0.001, 1000.0)), max_size=14)


LEADS = one_of(floats(0.0, 1.0), integers(0, 1).map(float))


def sees(seconds, workers):
    """What a slot sees where nobody waits for anything but a free worker."""
    return Clock(workers, 0, 1.0).slots_in_sight(seconds)


def simulated(seconds, workers, initial=0, lead=1.0):
    """(seen, pending) of the slot after the last: desks are served in order, time jumps from one end of work
    to the next."""
    desks, finished, now, waiting = [None] * workers, set(), 0, list(range(len(seconds)))
    while True:
        for desk, job in enumerate(desks):
            if job and job[0] <= now:
                finished.add(job[1])
                desks[desk] = None
        slot = waiting[0] if waiting else len(seconds)
        early = set(range(0 if slot < initial else slot - int(lead * slot)))
        if None not in desks or not early <= finished:
            now = min(desk[0] for desk in desks if desk)
            continue
        if not waiting:
            return tuple(sorted(finished)), tuple(sorted(set(range(len(seconds))) - finished))
        slot = waiting.pop(0)
        desks[desks.index(None)] = (now + max(1, round(seconds[slot] * 1e6)), slot)


@given(SECONDS, integers(1, 5), integers(0, 6), LEADS)
@settings(max_examples=300)
def test_what_a_slot_sees_equals_the_simulation(seconds, workers, initial, lead):
    assert Clock(workers, initial, lead).slots_in_sight(seconds) == simulated(
        seconds, workers, initial, lead
    )


@given(SECONDS, integers(1, 5), LEADS)
def test_all_but_the_lead_of_the_slots_before_are_seen_the_earliest_first(seconds, workers, lead):
    seen, _ = Clock(workers, 0, lead).slots_in_sight(seconds)
    assert set(range(len(seconds) - int(lead * len(seconds)))) <= set(seen)


@given(SECONDS, integers(1, 5))
def test_without_a_lead_the_workers_take_turns(seconds, workers):
    assert Clock(workers, 0, 0.0).slots_in_sight(seconds) == (tuple(range(len(seconds))), ())


@given(SECONDS, integers(1, 5), LEADS)
def test_what_a_slot_has_seen_every_later_one_has_seen_too(seconds, workers, lead):
    clock = Clock(workers, 2, lead)
    for slot in range(len(seconds)):
        assert set(clock.slots_in_sight(seconds[:slot])[0]) <= set(
            clock.slots_in_sight(seconds[: slot + 1])[0]
        )


@given(SECONDS)
def test_one_worker_sees_everything(seconds):
    assert sees(seconds, 1) == (tuple(range(len(seconds))), ())


@given(SECONDS, integers(1, 5))
def test_fewer_are_pending_than_there_are_workers(seconds, workers):
    seen, pending = sees(seconds, workers)
    assert len(pending) < workers and sorted(seen + pending) == list(range(len(seconds)))


def test_the_first_slots_see_nothing_and_ends_at_the_same_moment_are_both_seen():
    assert sees([], 3) == ((), ())
    assert sees([5.0, 9.0], 3) == ((), (0, 1))
    # 0.1 + 0.2 is 0.3 here, in whole microseconds
    assert sees([0.1, 0.3, 0.2], 2) == ((0, 1, 2), ())
    assert sees([5.0, 9.0, 5.0], 2) == ((0, 1), (2,))


@given(lists(floats(0.001, 100), max_size=30), integers(1, 5))
def test_a_slot_is_seen_once_it_has_ended(seconds, workers):
    clock = Clock(workers, 3, 0.2)
    finished = clock.virtual_ends(seconds)
    seen, pending = clock.slots_in_sight(seconds)
    assert sorted((*seen, *pending)) == list(range(len(seconds)))
    assert all(finished[early] < finished[late] for early in seen for late in pending)


@given(lists(floats(0.001, 100), max_size=30))
def test_one_worker_is_done_after_the_sum_of_the_seconds(seconds):
    """Within half a microsecond for each."""
    np.testing.assert_allclose(
        Clock(1, 3, 0.2).virtual_ends(seconds),
        np.cumsum(seconds),
        rtol=0,
        atol=0.5e-6 * len(seconds) + 1e-9,
    )
