import importlib.util
from pathlib import Path

import pytest


def module_named(name):
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def planted():
    """The module of seeded cases beside this file."""
    return module_named("planted")


@pytest.fixture(scope="session")
def packed():
    """The module of packs in memory beside this file."""
    return module_named("packed")
