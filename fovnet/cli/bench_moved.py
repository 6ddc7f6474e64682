"""`fovnet bench`: its former verbs that are scripts of the repository now."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

from fovnet.errors import ConfigError

SCRIPT_OF_VERB = {
    "accuracy": "accuracy.py",
    "another-model": "another_model.py",
    "bound": "bounds.py",
    "decide": "deciding.py",
    "edge": "edge.py",
    "engines": "engines.py",
    "intervals": "interval_coverage.py",
    "learn": "lessons.py",
    "ranks": "ranks.py",
    "screening": "screening.py",
    "slice": "slicing.py",
    "sorting": "sorting.py",
}


class BenchGroup(TyperGroup):
    """The verbs of `fovnet bench`, which says of one that has moved where it went."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The verb of a name.  Raises ConfigError "bench-moved" for one of SCRIPT_OF_VERB."""
        if cmd_name in SCRIPT_OF_VERB:
            path = f"workflow/experiments/{SCRIPT_OF_VERB[cmd_name]}"
            raise ConfigError(
                "bench-moved",
                f"fovnet bench {cmd_name}: is a script of the repository now; run `python {path}`, "
                "with the same options",
            )
        return super().get_command(ctx, cmd_name)
