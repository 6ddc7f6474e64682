"""One thread for linear algebra.

Small matrix products gain nothing from a second thread, and are severalfold slower if other
processes use the cores: cutting twelve volumes took 1.7 s with one thread and 8.0 s with two beside
two trainings.  With one thread the order of the sums, and so the last bit, does not depend on the
number of cores either; it does on their kind, by which BLAS chooses its kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = Lock()
_limits_in_use: list[Any] = []  # the same limit, once per context entered


@contextmanager
def one_thread() -> Iterator[None]:
    """A context in which numpy's and scipy's BLAS use one thread; the former number is restored
    when the last such context, in any thread, is left."""
    with _lock:
        if _limits_in_use:
            _limits_in_use.append(_limits_in_use[0])
        else:
            _limits_in_use.append(_find_libraries().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            limit = _limits_in_use.pop()
            if not _limits_in_use:
                limit.restore_original_limits()


@cache
def _find_libraries() -> ThreadpoolController:
    """The loaded libraries, looked up once: the search takes some milliseconds."""
    import scipy.linalg  # noqa: F401  (it has its own BLAS, which is found only once loaded)

    return ThreadpoolController()
