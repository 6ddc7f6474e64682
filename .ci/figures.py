"""Figures of the house: how large it is, how dense, and how many files of a room are entered from outside.

    python .ci/figures.py [FOLDER of a checkout]
Lines are those with code on them; docstrings and comments are neither lines nor tokens.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from pathlib import Path
from statistics import median, quantiles

SKIPPED = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def docstrings(tree: ast.AST) -> set[int]:
    """The lines of all docstrings, and of the strings that describe a constant."""
    strings = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )
    return {
        line
        for node in strings
        if isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or 0) + 1)
    }


def counted(path: Path) -> tuple[int, int, list[int]]:
    """Tokens, lines of code, and the lines of each function of a file."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    text = docstrings(tree)
    tokens = [
        one
        for one in tokenize.tokenize(io.BytesIO(source.encode()).readline)
        if one.type not in SKIPPED and one.start[0] not in text
    ]
    lines = {line for one in tokens for line in range(one.start[0], one.end[0] + 1)}
    functions = [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    own = [len(lines & set(range(node.lineno, (node.end_lineno or 0) + 1))) for node in functions]
    return len(tokens), len(lines), own


def imports(path: Path) -> set[str]:
    """All that a file may import by its `from ... import ...`, modules and names alike."""
    nodes = [
        node
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
    ]
    return {
        name
        for node in nodes
        for name in (node.module or "", *(f"{node.module}.{one.name}" for one in node.names))
    }


def entered(package: Path) -> dict[str, tuple[int, int]]:
    """Of each room, how many of its files other rooms import, of how many."""
    files = {
        ".".join(path.relative_to(package.parent).with_suffix("").parts): path
        for path in package.rglob("*.py")
    }
    doors = {
        other
        for name, path in files.items()
        for other in imports(path)
        if other in files and other.split(".")[:2] != name.split(".")[:2]
    }
    rooms = sorted({name.split(".")[1] for name in files if name.count(".") > 1})
    inside = {
        room: [
            name
            for name in files
            if name.startswith(f"fovnet.{room}.") and not name.endswith("__init__")
        ]
        for room in rooms
    }
    return {
        room: (sum(name in doors for name in names), len(names)) for room, names in inside.items()
    }


def main() -> None:
    """Prints the figures."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1]
    package, tests = (
        [counted(path) for path in sorted((root / room).rglob("*.py"))]
        for room in ("fovnet", "tests")
    )
    tokens, lines = (sum(one[part] for one in package) for part in (0, 1))
    functions = [length for one in package for length in one[2]]
    print(f"code tokens               {tokens:,}")
    print(f"lines of code             {lines:,}, {tokens / lines:.1f} tokens a line")
    print(
        f"functions                 median {median(functions):g}, p90 {quantiles(functions, n=10)[-1]:g}, "
        f"longest {max(functions)}"
    )
    print(f"tests / code              {sum(one[1] for one in tests) / lines:.2f} lines")
    wide = sum(
        len(line) > 110
        for path in (root / "fovnet").rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
    )
    print(f"lines beyond 110 columns  {wide:,}")
    for room, (doors, files) in entered(root / "fovnet").items():
        print(f"{room:10} {doors:3} of {files:3} files entered from outside")


if __name__ == "__main__":
    main()
