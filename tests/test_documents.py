"""Documents: what they link to and what they name is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted(
    path
    for path in [
        *ROOT.glob("*.md"),
        *(
            path
            for room in ("fovnet", "configs", "workflow", "tests", "packaging", ".github")
            for path in (ROOT / room).rglob("*.md")
        ),
    ]
)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def anchors(document: Path) -> set[str]:
    """Of each heading the anchor that GitHub makes of it."""
    headings = HEADING.findall(document.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(document: Path) -> None:
    for target in LINK.findall(document.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        place = document.parent / name if name else document
        assert place.exists(), f"{document.name} links to {target}"
        assert not anchor or anchor in anchors(place), (
            f"{document.name}: {place.name} has no heading {anchor}"
        )


def test_the_map_names_files_that_are_there() -> None:
    named = re.findall(
        r"`((?:\w+/)+(?:\w+(?:\.\w+)?)?)`",
        (ROOT / "fovnet" / "README.md").read_text(encoding="utf-8"),
    )
    assert len(named) > 30
    for name in named:
        assert any((base / name).exists() for base in (ROOT / "fovnet", ROOT)), name


def test_every_configuration_is_in_the_list_of_them() -> None:
    listed = (ROOT / "configs" / "README.md").read_text(encoding="utf-8")
    assert all(f"`{path.name}`" in listed for path in (ROOT / "configs").glob("*.yaml"))


def test_every_rule_file_is_in_the_list_of_acts() -> None:
    listed = (ROOT / "workflow" / "README.md").read_text(encoding="utf-8")
    assert all(
        f"rules/{path.name}" in listed
        for path in (ROOT / "workflow" / "rules").glob("*.smk")
        if path.stem != "common"
    )
