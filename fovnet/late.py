"""Modules that are imported when they are first used: those that need torch, another library that is
slow to import, or one of an extra.

    if TYPE_CHECKING:
        from fovnet.net.family import weights
    else:
        weights = import_late("fovnet.net.family.weights")

What a file stands on is then told at its top, to readers, to mypy and to the test of the floors, as
by any other import.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class _LateModule:
    """A module that is imported when one of its names is first asked for."""

    def __init__(self, module_name: str) -> None:
        self._module_name = module_name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._module_name), name)


def import_late(module_name: str) -> Any:
    """What stands for a module and gives its names.  What the import raises, each use raises."""
    return _LateModule(module_name)
