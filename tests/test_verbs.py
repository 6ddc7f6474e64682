"""The verbs of the command line are listed from one table, and imported one by one."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from typer.main import get_group
from typer.testing import CliRunner

from fovnet import cli
from fovnet.cli import app
from fovnet.cli.bench import BENCH_VERBS
from fovnet.cli.verbs import VERBS, Verb

MODULES = sorted({module for module, _ in VERBS.values()})
LISTS = [*((VERBS, name) for name in VERBS), *((BENCH_VERBS, name) for name in BENCH_VERBS)]
MODULES_OF_LISTS = [
    *((VERBS, module) for module in MODULES),
    *((BENCH_VERBS, module) for module in sorted({module for module, _ in BENCH_VERBS.values()})),
]


@pytest.mark.parametrize(("listed", "name"), LISTS, ids=[name for _, name in LISTS])
def test_a_verb_is_listed_with_the_first_paragraph_of_its_help(
    listed: dict[str, tuple[str, str]], name: str
) -> None:
    module, first_paragraph = listed[name]
    command = Verb(name, module, first_paragraph).load()
    assert inspect.cleandoc(command.help).split("\n\n")[0] == first_paragraph


@pytest.mark.parametrize(
    ("listed", "module"), MODULES_OF_LISTS, ids=[module for _, module in MODULES_OF_LISTS]
)
def test_the_verbs_of_a_module_are_those_listed_for_it(
    listed: dict[str, tuple[str, str]], module: str
) -> None:
    verbs = get_group(import_module(f"fovnet.cli.{module}").verbs)
    assert verbs.commands.keys() == {name for name, (stem, _) in listed.items() if stem == module}


def test_no_module_with_verbs_is_forgotten() -> None:
    files = Path(cli.__file__).parent.glob("*.py")
    with_verbs = {path.stem for path in files if "\nverbs = typer.Typer(" in path.read_text()}
    assert with_verbs == {module for _, module in MODULES_OF_LISTS}


def test_the_list_of_verbs_imports_none_of_them() -> None:
    """Nor the acts, the settings or numpy's larger relatives: `fovnet --help` takes half a second less."""
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom fovnet.cli import app\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        "print(*sys.modules)"
    )
    completed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=900
    )
    modules = set(completed.stdout.split())
    assert not modules & {f"fovnet.cli.{module}" for module in MODULES}
    assert not modules & {"fovnet.acts", "fovnet.net", "scipy", "nibabel", "pydantic"}


def test_a_mistyped_verb_is_told_with_the_nearest() -> None:
    answer = CliRunner().invoke(app, ["serach"])
    assert answer.exit_code == 2 and "Did you mean 'search'" in answer.output


def test_a_module_whose_table_is_known_by_its_columns_has_them() -> None:
    """The names of module and constant are words for `table_of`, which no check of types follows."""
    texts = (path.read_text() for path in Path(cli.__file__).parent.glob("*.py"))
    pattern = r'table_of\(\s*"([\w.]+)"(?:, "(\w+)")?\s*\)'
    columns = {found for text in texts for found in re.findall(pattern, text)}
    assert len(columns) >= 5
    missing = [
        (module, name)
        for module, name in columns
        if not hasattr(import_module(module), name or "COLUMNS")
    ]
    assert missing == []
