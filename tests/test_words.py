"""Numbers of things as people write them."""

from __future__ import annotations

import re
from pathlib import Path

import fovnet
from fovnet.words import several


def test_one_of_a_thing_is_singular_and_thousands_have_a_comma() -> None:
    assert [several(count, "volume") for count in (0, 1, 1204)] == ["0 volumes", "1 volume", "1,204 volumes"]
    assert [several(count, "person", "people") for count in (1, 2)] == ["1 person", "2 people"]


def test_no_other_file_makes_a_plural() -> None:
    """Of "1 volumes" there is one place to mend."""
    package, made = Path(fovnet.__file__).parent, re.compile(r"""['"]s['"] if|else ['"]s['"]|thread\(s\)""")
    assert [
        str(path.relative_to(package)) for path in package.rglob("*.py") if made.search(path.read_text())
    ] == []
