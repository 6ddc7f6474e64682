"""The house has floors: a room imports only from lower ones, and heavy libraries stay in the rooms that need
them."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from types import ModuleType

import nibabel
import numpy as np
import pytest

from fovnet.cli.verbs import VERBS

PACKAGE = Path(__file__).parents[1] / "fovnet"
FLOORS = {
    "regions": 0,
    "errors": 0,
    "records": 0,
    "results": 0,
    "choices": 0,
    "late": 0,
    "levels": 0,
    "words": 0,
    "unforeseen": 0,
    "_version": 0,
    "machine": 0,
    "own_files": 0,
    "maths": 1,
    "config": 1,
    "drawing": 1,
    "volume": 2,
    "search": 2,
    "commands": 2,
    "workflow": 2,
    "net": 3,
    "phantom": 3,
    "decision": 4,
    "evaluate": 5,
    "label": 6,
    "report": 6,
    "acts": 7,
    "watch": 7,
    "node": 8,
    "bench": 8,
    "archive": 9,
    "cli": 10,
    "__main__": 11,
}
FLOORS_OF_THE_PHANTOM = {
    "__init__": 0,
    "geometry": 0,
    "scanner": 0,
    "features": 0,
    "person": 1,
    "anatomy": 2,
    "finish": 3,
    "acquisition": 4,
    "bodiless": 5,
    "oddities": 5,
    "one_scanner": 5,
    "variety": 5,
    "collection": 6,
    "own_labels": 7,
}
FILES = sorted(
    path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.name != "__init__.py"
)
MODULES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in FILES
}
# packages within a room, and what of it they stand on: the rest of the room may import them
FOOTINGS = {
    "volume.dicom": {"volume.checks", "volume.grid", "volume.unpacking", "volume.volume"},
    "volume.formats": {"volume.checks", "volume.grid", "volume.unpacking", "volume.volume"},
    "volume.sources": {
        "volume.both_signs",
        "volume.checks",
        "volume.dicom",
        "volume.filled",
        "volume.formats",
        "volume.grid",
        "volume.orient",
        "volume.unpacking",
        "volume.volume",
    },
    "volume.slices": {
        "volume.both_signs",
        "volume.checks",
        "volume.formats",
        "volume.intensity",
        "volume.orient",
        "volume.sources",
        "volume.volume",
    },
    "volume.collection": {"volume.dicom", "volume.slices", "volume.sources", "volume.volume"},
    "volume.adapters": {
        "volume.collection",
        "volume.dicom",
        "volume.intensity",
        "volume.orient",
        "volume.sources",
        "volume.unpacking",
        "volume.volume",
    },
    "report.content": set(),
    "report.figures": {"report.content"},
    "report.exports": set(),
    "decision.chain": {"decision.calibrations", "decision.rule"},
    "decision.checks": {
        "decision.chain",
        "decision.confidence_bar",
        "decision.dark_slices",
        "decision.novelty",
        "decision.orientation",
        "decision.rule",
    },
    "net.family": set(),
    "net.images": {"net.recipe"},
    "net.inference": {"net.family", "net.faults", "net.images", "net.inference_batch"},
    "net.training": {
        "net.family",
        "net.faults",
        "net.images",
        "net.inference_batch",
        "net.paths",
        "net.recipe",
        "net.stopping",
    },
    "net.cost": {"net.family", "net.recipe", "net.training"},
    "search.tree": {"search.space"},
    "search.look": {"search.space", "search.tree", "search.trial", "search.prior"},
    "search.spend": {"search.trial"},
    "search.jobs": {
        "search.clock",
        "search.journal",
        "search.run",
        "search.search",
        "search.slot_files",
        "search.spend",
        "search.tree",
        "search.trial",
    },
    "search.learn": {
        "search.journal",
        "search.look",
        "search.prior",
        "search.slot_files",
        "search.space",
        "search.trial",
    },
    "search.explain": {
        "search.look",
        "search.methods",
        "search.search",
        "search.space",
        "search.spend",
        "search.tree",
        "search.tree_search",
        "search.trial",
    },
}


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[str]:
    """Every module a file names in an import, at its top or inside a function."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def rooms_imported(path: Path) -> set[str]:
    return {
        name.split(".")[1] for name in imports(path) if name.startswith("fovnet.")
    } & FLOORS.keys()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_room_imports_only_from_lower_floors(path: Path) -> None:
    room = room_of(path)
    assert room in FLOORS, f"{room} has no floor"
    for other in rooms_imported(path) - {room}:
        same_ground = FLOORS[room] == 0 and FLOORS[other] == 0
        assert FLOORS[other] < FLOORS[room] or same_ground, (
            f"{room} (floor {FLOORS[room]}) imports {other} (floor {FLOORS[other]})"
        )


def imported_within(room: str, *, packages_whole: bool) -> dict[str, set[str]]:
    """What each file of a room imports of it; a package in it counts as its files, or as one."""

    def part(name: str) -> str:
        return ".".join(name.split(".")[:2]) if packages_whole else name

    found: dict[str, set[str]] = {}
    for name in (name for name in MODULES if name.startswith(f"{room}.")):
        others = {
            other.removeprefix("fovnet.") for other in imports(MODULES[name])
        } & MODULES.keys()
        found.setdefault(part(name), set()).update(
            {part(other) for other in others if other.startswith(f"{room}.")} - {part(name)}
        )
    return found


@pytest.mark.parametrize("packages_whole", [False, True])
@pytest.mark.parametrize(
    "room", sorted({room_of(path) for path in FILES if path.parent != PACKAGE})
)
def test_no_imports_within_a_room_go_in_a_circle(room: str, packages_whole: bool) -> None:
    # its CycleError names the circle
    TopologicalSorter(imported_within(room, packages_whole=packages_whole)).prepare()


def test_every_folder_of_the_package_is_a_package() -> None:
    """A folder without `__init__` is imported from a checkout all the same, and is missing from a wheel."""
    assert {path.parent for path in FILES} <= {path.parent for path in PACKAGE.rglob("__init__.py")}


@pytest.mark.parametrize("package", FOOTINGS)
def test_a_package_within_a_room_stands_on_what_lies_below_it(package: str) -> None:
    """Formats and DICOM know the checks and the grid, but neither each other nor who reads, finds or slices;
    exports know no page."""
    beyond = (
        imported_within(package.split(".")[0], packages_whole=True)[package] - FOOTINGS[package]
    )
    assert not beyond, f"{package} imports {beyond}"


PACKAGES = sorted(
    name for name, path in MODULES.items() if path.name == "__init__.py" and name != "cli"
)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_opens_with_what_it_is_and_imports_nothing(package: str) -> None:
    statements = ast.parse(MODULES[package].read_text()).body
    assert len(statements) == 1 and ast.get_docstring(ast.Module(statements, [])), (
        f"{package} does more than say what it is"
    )


def named(docstring: str) -> set[str]:
    """What the map of a package names: words before two blanks, as in "memory, locks  what they do"."""
    lists = re.findall(r"(\w+(?:, \w+)*) {2,}(?=\S)", docstring)
    return {name for found in lists for name in found.split(", ")}


def map_of(package: str) -> set[str]:
    """What the docstring of a package names, each with the name of the package before it."""
    docstring = ast.parse(MODULES[package].read_text()).body[0]
    assert isinstance(docstring, ast.Expr) and isinstance(docstring.value, ast.Constant)
    return {f"{package}.{name}" for name in named(str(docstring.value.value))}


@cache
def doors() -> set[str]:
    """Files of rooms that other rooms import, and the packages in which these lie."""
    found = {
        other
        for path in FILES
        for other in {name.removeprefix("fovnet.") for name in imports(path)} & MODULES.keys()
        if "." in other and other.split(".")[0] != room_of(path)
    }
    return found | {door.rsplit(".", 1)[0] for door in found if door.count(".") > 1}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_names_its_doors(package: str) -> None:
    """The files that other rooms import: whoever changes one of them may change those rooms too."""
    unnamed = {door for door in doors() if door.rsplit(".", 1)[0] == package} - map_of(package)
    assert not unnamed, (
        f"{package}/__init__.py does not name {', '.join(sorted(unnamed))}, which others import"
    )


@pytest.mark.parametrize("package", PACKAGES)
def test_what_a_package_names_exists(package: str) -> None:
    gone = map_of(package) - MODULES.keys()
    assert not gone, f"{package}/__init__.py names {', '.join(sorted(gone))}"


def test_a_map_is_read_line_by_line() -> None:
    text = "What it is,  and more.\n\n    one, two  what both do\n    three     words;  four  in its line\n"
    assert named(text) == {"one", "two", "three", "four"}


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if room_of(path) == "phantom"],
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_a_package_of_the_phantom_imports_only_from_lower_ones(path: Path) -> None:
    part = path.relative_to(PACKAGE).parts[1].removesuffix(".py")
    assert part in FLOORS_OF_THE_PHANTOM, f"{part} has no floor in the phantom"
    for other in {
        name.split(".")[2] for name in imports(path) if name.startswith("fovnet.phantom.")
    } - {part}:
        assert FLOORS_OF_THE_PHANTOM[other] < FLOORS_OF_THE_PHANTOM[part], (
            f"{part} (floor {FLOORS_OF_THE_PHANTOM[part]}) imports {other} (floor "
            f"{FLOORS_OF_THE_PHANTOM[other]})"
        )


def test_the_phantom_is_described_in_the_order_of_its_floors() -> None:
    """ "Each part uses only those above it": every part is told, none beneath one of a higher floor."""
    docstring = ast.get_docstring(ast.parse(MODULES["phantom"].read_text())) or ""
    parts = re.findall(r"^(\w+) {2}", docstring, flags=re.MULTILINE)
    assert sorted([*parts, "__init__"]) == sorted(FLOORS_OF_THE_PHANTOM)
    floors = [FLOORS_OF_THE_PHANTOM[part] for part in parts]
    assert floors == sorted(floors)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_torch_and_monai_live_in_net_alone(path: Path) -> None:
    """At import time; decision may name torch's types for the type checker."""
    tree = ast.parse(path.read_text())
    heavy = {
        (alias.name if isinstance(node, ast.Import) else node.module or "").split(".")[0]
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    } & {"torch", "monai"}
    assert not heavy or room_of(path) == "net"


PRINTING = {
    "print",
    "exit",
    "quit",
    "sys.exit",
    "sys.argv",
    "sys.stdout",
    "sys.stderr",
    "sys.__stdout__",
    "sys.__stderr__",
    "os._exit",
    "os.abort",
    "os.write",
    "SystemExit",
    "warnings.warn",
}
ALLOWED = {
    "net/jobs/workers.py": {"os._exit"},
    "machine/parallel.py": {"os._exit"},
    "volume/dicom/decoding.py": {"sys.stdout"},
}
"""Where else these are meant: processes of our own, which end with the one that began them, or answer it
through a pipe."""


def dotted(node: ast.AST) -> str:
    """ "sys.stdout.write" of a name with its attributes; "" of anything else."""
    if isinstance(node, ast.Name):
        return node.id
    return f"{dotted(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else ""


def used(tree: ast.AST) -> set[str]:
    """Names, and what is asked of modules, however it was imported."""
    found = {dotted(node) for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Attribute)}
    return found | {
        f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_command_line_prints_and_exits(path: Path) -> None:
    found = used(ast.parse(path.read_text())) & PRINTING
    assert room_of(path) == "cli" or found <= ALLOWED.get(str(path.relative_to(PACKAGE)), set())


@pytest.mark.parametrize(
    "line",
    [
        "sys.exit(1)",
        "sys.stdout.write('x')",
        "os._exit(2)",
        "from sys import exit",
        "raise SystemExit(3)",
        "print('x', file=log)",
        "say = print",
        "sys.stderr.buffer.write(b'x')",
    ],
)
def test_every_way_to_print_or_exit_is_seen(line: str) -> None:
    assert used(ast.parse(line)) & PRINTING


VERBS_WITH_TORCH = {"adapt", "calibrate"}


def test_what_needs_no_torch_costs_no_torch() -> None:
    """torch takes more than a second to import: help, proposals, prices and reports do without it, one after
    the other, and the modules of all verbs but those that always compute with torch."""
    names = (
        "fovnet",
        "fovnet.cli",
        *sorted(
            {
                f"fovnet.cli.{module}"
                for verb, (module, _) in VERBS.items()
                if verb not in VERBS_WITH_TORCH
            }
        ),
        "fovnet.cli.bench_searches",
        "fovnet.cli.bench_pace",
        "fovnet.search.journal",
        "fovnet.report.content.page",
        "fovnet.net.cost.prices",
        "fovnet.net.cost.calibration",
        "fovnet.decision.ensemble",
    )
    code = (
        "import importlib, sys\nfor name in sys.argv[1:]:\n    importlib.import_module(name)\n"
        "    assert not {'torch', 'monai'} & sys.modules.keys(), name"
    )
    subprocess.run([sys.executable, "-c", code, *names], check=True, timeout=900)


def imported_late(tree: ast.AST) -> dict[str, str]:
    """Modules that a file imports when they are first used, by the names they have there."""
    return {
        ast.unparse(node.targets[0]): ast.literal_eval(node.value.args[0])
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func) == "import_late"
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_what_is_imported_late_is_imported_for_the_type_checker_too(path: Path) -> None:
    """By the same name: readers, mypy and the floors then see it."""
    tree = ast.parse(path.read_text())
    imported = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for block in tree.body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported_late(tree).items() <= imported.items()


NEVER_NEEDED = frozenset(
    [
        "SimpleITK",
        "highdicom",
        "monai",
        "onnx",
        "pandas",
        "scipy.interpolate",
        "scipy.optimize",
        "scipy.stats",
        "sklearn",
        "snakemake",
        "torch",
        "yaml",
    ]
)
OF_PAGES = frozenset({"jinja2", "matplotlib"})
OF_COMMANDS = frozenset({"pydantic", "rich", "typer"})  # typer asks for pydantic
OF_IMAGES = frozenset({"PIL", "nibabel", "pydicom"})
COMMAND = "import sys; from fovnet.cli import main; sys.argv = ['fovnet', *sys.argv[1:]]; main()"
PREDICT = "import fovnet, sys; fovnet.load(device='cpu').predict(sys.argv[1])"
ANSWER_ALONE = "predict {} --out out --device cpu --no-pictures --no-pages"
UNUSED_BY_CASE = {
    "help": (COMMAND, "--help", NEVER_NEEDED | OF_PAGES | OF_IMAGES | {"numpy", "scipy"}),
    "check": (
        COMMAND,
        f"check --config {PACKAGE.parent / 'configs' / 'smoke.yaml'}",
        NEVER_NEEDED - {"yaml"} | OF_PAGES | OF_IMAGES | {"scipy"},
    ),
    "cost": (
        COMMAND,
        f"cost --config {PACKAGE.parent / 'configs' / 'smoke.yaml'}",
        NEVER_NEEDED - {"yaml"} | OF_PAGES | OF_IMAGES,
    ),
    "networks": (
        "import fovnet; fovnet.load(device='cpu')",
        "",
        NEVER_NEEDED | OF_PAGES | OF_COMMANDS | OF_IMAGES,
    ),
    "nifti": (PREDICT, "body.nii.gz", NEVER_NEEDED | OF_PAGES | OF_COMMANDS),
    "series": (PREDICT, "series", NEVER_NEEDED | OF_PAGES | OF_COMMANDS),
    "refused": (PREDICT, "text.nii.gz", NEVER_NEEDED | OF_PAGES | OF_COMMANDS | OF_IMAGES),
    "nifti-answer": (COMMAND, ANSWER_ALONE.format("body.nii.gz"), NEVER_NEEDED | OF_PAGES),
    "series-answer": (COMMAND, ANSWER_ALONE.format("series"), NEVER_NEEDED | OF_PAGES),
    "refused-answer": (
        COMMAND,
        ANSWER_ALONE.format("text.nii.gz"),
        NEVER_NEEDED | OF_PAGES | OF_IMAGES,
    ),
    "nifti-page": (COMMAND, "predict body.nii.gz --out out --device cpu", NEVER_NEEDED),
}
"""{case: (code, its arguments, packages that it must not import)}; nibabel itself imports pydicom."""


@pytest.mark.parametrize("case", UNUSED_BY_CASE)
def test_what_is_imported_is_what_is_used(case: str, tmp_path: Path, write: ModuleType) -> None:
    code, arguments, unused = UNUSED_BY_CASE[case]
    voxels = write.noise((40, 32, 16))
    nibabel.save(
        nibabel.Nifti1Image(voxels, np.diag([4.0, 4.0, 6.0, 1.0])), tmp_path / "body.nii.gz"
    )
    write.save(tmp_path / "series", write.images(voxels))
    (tmp_path / "text.nii.gz").write_text("no volume\n")
    report = f"import atexit, sys; atexit.register(lambda: print('loaded', *sys.modules)); {code}"
    completed = subprocess.run(
        [sys.executable, "-c", report, *arguments.split()],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    loaded = completed.stdout.rpartition("loaded ")[2].split()
    assert "fovnet" in loaded and completed.returncode in (0, 3), completed.stderr[-2000:]
    assert not unused & set(loaded)
    assert (tmp_path / "out" / "spans.tsv").exists() == ("--out" in arguments)


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if room_of(path) == "net"],
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_networks_know_no_settings(path: Path) -> None:
    """`net` takes plain arguments or its own dataclasses; `acts` makes them of a configuration."""
    assert not {name for name in imports(path) if name.startswith("fovnet.config")}


def test_training_needs_torch_and_numpy_alone() -> None:
    """It must run where neither nibabel nor pydantic is installed: prepared arrays in, a network out."""
    code = (
        "import fovnet.net.training.train, fovnet.net.jobs.workers, sys; "
        "assert not {'nibabel', 'pydantic', 'monai', 'matplotlib', 'snakemake'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=900)


ALONE = """
import importlib.abc, sys
class Nothing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in {known!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Nothing())
import numpy as np
from pathlib import Path
from fovnet.net.family.architecture import Architecture
from fovnet.net.recipe import Ranges
from fovnet.net.training.train import place_on_device, train_network
from fovnet.net.recipe import Recipe
import torch
pixels, rows = np.zeros((24, 128, 128), np.uint8), np.arange(24)
data = place_on_device(pixels, np.eye(2, dtype=np.float32)[rows % 2], rows[:16], rows[16:], torch.device("cpu"))
net = Architecture(4, 1, 2, 3, False, classes=2, head="gap")
ending = train_network(net, learning_rate=0.01, batch_size=8, seed=1, data=data, recipe=Recipe(1, 16, Ranges(5.0, 0.1, 0.1, 0.1, 0.02)),
                       weights_path=Path(sys.argv[1]), network_facts={{}})
print(ending.status)
"""


def test_a_network_is_trained_and_written_where_no_other_package_is(tmp_path: Path) -> None:
    others = {
        "safetensors",
        "pydantic",
        "yaml",
        "monai",
        "nibabel",
        "typer",
        "rich",
        "matplotlib",
        "pydicom",
        "snakemake",
    }
    line = [sys.executable, "-c", ALONE.format(known=others), tmp_path / "net.safetensors"]
    completed = subprocess.run(line, capture_output=True, text=True, check=False, timeout=900)
    assert completed.stdout.split() == ["completed"] and (tmp_path / "net.safetensors").exists(), (
        completed.stderr[-2000:]
    )


def test_no_file_of_the_code_names_a_region() -> None:
    """Regions are data: outside the vocabulary and the simulated anatomy no code depends on what they are
    called."""
    from fovnet.regions import DEFAULT

    names = {region.name for region in DEFAULT.regions}
    for path in FILES:
        if room_of(path) in ("regions", "phantom"):
            continue
        tree, others = ast.parse(path.read_text()), OTHER_MEANINGS.get(room_of(path), set())
        for line, name in [
            *compared(tree),
            *((line, key) for line, key in keys(tree) if key not in others),
        ]:
            assert name not in names, f"{path.name}:{line} decides by {name!r}"


OTHER_MEANINGS = {"net": {"head"}}
"""Keys that mean no region: the last layers of a network."""


def texts(trees: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """(line, text) of every text in these."""
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def compared(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """What something is compared or matched with."""
    return texts(node for node in ast.walk(tree) if isinstance(node, ast.Compare | ast.MatchValue))


def keys(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The keys of mappings that are written down or matched."""
    return texts(
        key
        for node in ast.walk(tree)
        if isinstance(node, ast.Dict | ast.MatchMapping)
        for key in node.keys
        if key is not None
    )


@pytest.mark.parametrize(
    "code",
    [
        "region == 'legs'",
        "region in ('legs', x)",
        "match region:\n case 'legs' | 'head': pass",
        "{'legs': 1}[region]",
        "{**x, 'legs': 1}",
        "match facts:\n case {'legs': y}: pass",
    ],
)
def test_every_way_to_decide_by_a_name_is_seen(code: str) -> None:
    assert "legs" in {name for found in (compared, keys) for _, name in found(ast.parse(code))}
