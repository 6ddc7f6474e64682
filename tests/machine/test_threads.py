"""One thread for linear algebra, for as long as anybody asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import scipy.special  # noqa: F401  (its BLAS is limited too once it is loaded)
from threadpoolctl import ThreadpoolController

from fovnet.machine.threads import one_thread


def threads() -> set[int]:
    """How many threads the libraries for linear algebra use now."""
    return {
        library["num_threads"]
        for library in ThreadpoolController().info()
        if library["user_api"] == "blas"
    }


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        yield


def test_who_leaves_first_does_not_lift_the_others_limit() -> None:
    """A thread that reads volumes and one that classifies them enter and leave as it comes."""
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


def test_whichever_threads_come_first_and_last_set_and_lift_the_limit() -> None:
    """Also others than the thread that set a limit before them."""
    with one_thread():
        assert threads() == {1}
    with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(1) as classifier:
        reading, classifying = one_thread(), one_thread()
        reader.submit(reading.__enter__).result()
        assert threads() == {1}
        classifier.submit(classifying.__enter__).result()
        reader.submit(reading.__exit__, None, None, None).result()
        assert threads() == {1}
        classifier.submit(classifying.__exit__, None, None, None).result()
        assert threads() == {2}
