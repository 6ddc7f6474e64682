from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def made() -> ModuleType:
    """The module of bodies on grids, written in every format, beside this file."""
    spec = importlib.util.spec_from_file_location("made", Path(__file__).with_name("made.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
