import importlib.util
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def planted():
    """The module of seeded cases beside this file."""
    spec = importlib.util.spec_from_file_location("planted", Path(__file__).with_name("planted.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
