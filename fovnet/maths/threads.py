"""One thread for linear algebra.

Small matrix products gain nothing from a second thread, and lose severalfold where other processes want the cores: cutting twelve
volumes took 1.7 s with one thread and 8.0 s with two beside two trainings.  The order of the sums, and so the last bit, then no
longer depends on the machine's cores either.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[Any]:
    """A context in which numpy's and scipy's BLAS use one thread."""
    context: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return context


@cache
def _libraries() -> ThreadpoolController:
    """The loaded libraries, looked up once: the search takes some milliseconds."""
    import scipy.linalg  # noqa: F401  (it brings a BLAS of its own, which has to be loaded to be found)

    return ThreadpoolController()
