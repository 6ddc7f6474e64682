"""The virtual clock against an event-by-event simulation of W people at W desks."""

from hypothesis import given, settings
from hypothesis.strategies import floats, integers, lists, one_of

from fovnet.search.clock import ends, sees

SECONDS = lists(one_of(integers(1, 5).map(float), floats(0.001, 1000.0)), max_size=14)


def simulated(seconds, workers):
    """(seen, pending) of the slot after the last: desks are served in order, time jumps from one end of work to the next."""
    desks, finished, now, waiting = [None] * workers, set(), 0, list(range(len(seconds)))
    while True:
        for desk, job in enumerate(desks):
            if job and job[0] <= now:
                finished.add(job[1])
                desks[desk] = None
        if None not in desks:
            now = min(end for end, _ in desks)
            continue
        if not waiting:
            return tuple(sorted(finished)), tuple(sorted(set(range(len(seconds))) - finished))
        slot = waiting.pop(0)
        desks[desks.index(None)] = (now + max(1, round(seconds[slot] * 1e6)), slot)


@given(SECONDS, integers(1, 5))
@settings(deadline=None, max_examples=300)
def test_what_a_slot_sees_equals_the_simulation(seconds, workers):
    assert sees(seconds, workers) == simulated(seconds, workers)


@given(SECONDS)
@settings(deadline=None)
def test_one_worker_sees_everything(seconds):
    assert sees(seconds, 1) == (tuple(range(len(seconds))), ())


@given(SECONDS, integers(1, 5))
@settings(deadline=None)
def test_fewer_are_pending_than_there_are_workers(seconds, workers):
    seen, pending = sees(seconds, workers)
    assert len(pending) < workers and sorted(seen + pending) == list(range(len(seconds)))


def test_the_first_slots_see_nothing_and_ends_at_the_same_moment_are_both_seen():
    assert sees([], 3) == ((), ())
    assert sees([5.0, 9.0], 3) == ((), (0, 1))
    assert sees([0.1, 0.3, 0.2], 2) == ((0, 1, 2), ())             # 0.1 + 0.2 is 0.3 here, in whole microseconds
    assert sees([5.0, 9.0, 5.0], 2) == ((0, 1), (2,))


@given(lists(floats(0.001, 100), max_size=30), integers(1, 5))
def test_a_slot_is_seen_once_it_has_ended(seconds, workers):
    finished = ends(seconds, workers)
    seen, pending = sees(seconds, workers)
    assert sorted((*seen, *pending)) == list(range(len(seconds)))
    assert all(finished[early] < finished[late] for early in seen for late in pending)
