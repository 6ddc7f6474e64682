"""One thread for linear algebra, for as long as anybody asks for it."""

from __future__ import annotations

from threadpoolctl import ThreadpoolController

from fovnet.machine.threads import one_thread


def threads() -> set[int]:
    """How many threads the libraries for linear algebra use now."""
    return {
        library["num_threads"]
        for library in ThreadpoolController().info()
        if library["user_api"] == "blas"
    }


def test_who_leaves_first_does_not_lift_the_others_limit() -> None:
    """A thread that reads volumes and one that classifies them enter and leave as it comes."""
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        first, second = one_thread(), one_thread()
        first.__enter__()
        second.__enter__()
        assert threads() == {1}
        first.__exit__(None, None, None)
        assert threads() == {1}
        second.__exit__(None, None, None)
        assert threads() == {2}
        with one_thread(), one_thread():
            assert threads() == {1}
        assert threads() == {2}
