"""One thread for linear algebra.

Small matrix products gain nothing from a second thread, and lose severalfold where other processes want the cores: cutting twelve
volumes took 1.7 s with one thread and 8.0 s with two beside two trainings.  The order of the sums, and so the last bit, then no
longer depends on the machine's cores either.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = Lock()
_inside: list[Any] = []         # the limit, once for everybody who is in it


@contextmanager
def one_thread() -> Iterator[None]:
    """A context in which numpy's and scipy's BLAS use one thread; as many as before once nobody is in it any more, in whatever thread."""
    with _lock:
        _inside.append(_inside[0] if _inside else _libraries().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            limit = _inside.pop()
            if not _inside:
                limit.restore_original_limits()


@cache
def _libraries() -> ThreadpoolController:
    """The loaded libraries, looked up once: the search takes some milliseconds."""
    import scipy.linalg  # noqa: F401  (it brings a BLAS of its own, which has to be loaded to be found)

    return ThreadpoolController()
