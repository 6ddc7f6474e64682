"""One thread for linear algebra.

Small matrix products gain nothing from a second thread, and are severalfold slower if other
processes use the cores: cutting twelve volumes took 1.7 s with one thread and 8.0 s with two beside
two trainings.  With one thread the order of the sums, and so the last bit, does not depend on the
number of cores either; it does on their kind, by which BLAS chooses its kernels.

OpenBLAS has one number of threads for the whole process.  threadpoolctl lets the thread that first
sets it set all later ones, and says nothing where another tries: prediction, which reads in one
thread and classifies in another, would have no limit once a third had set one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import OpenBLASController, ThreadpoolController

_lock = Lock()
_limits_in_use: list[Any] = []  # the same limit, once per context entered


@contextmanager
def one_thread() -> Iterator[None]:
    """A context in which numpy's and scipy's BLAS use one thread, in every thread of the process;
    the former number is restored when the last such context, in any thread, is left."""
    with _lock:
        if _limits_in_use:
            _limits_in_use.append(_limits_in_use[0])
        else:
            libraries = _find_libraries()
            OpenBLASController.clear_controlling_thread(force=True)
            _limits_in_use.append(libraries.limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            limit = _limits_in_use.pop()
            if not _limits_in_use:
                OpenBLASController.clear_controlling_thread(force=True)
                limit.restore_original_limits()
                OpenBLASController.clear_controlling_thread(force=True)


@cache
def _find_libraries() -> ThreadpoolController:
    """The loaded libraries, looked up once: the search takes some milliseconds."""
    # scipy has its own BLAS, found only once loaded: its special functions, which are used anyway,
    # load it in no time, scipy.linalg in a tenth of what a prediction imports
    import scipy.special  # noqa: F401

    return ThreadpoolController()
