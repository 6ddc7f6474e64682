"""The facts in a weights file.  Importing this imports no torch."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fovnet.errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor


def load_facts(path: Path) -> dict[str, Any]:
    """The facts in a safetensors file, without its tensors.  Raises ModelError as
    `read_weights_file`."""
    _, facts = read_weights_file(path, "numpy", lambda _: {})
    return facts


def read_weights_file(
    weights_path: Path, framework: str, read_tensors: Callable[[Any], dict[str, Tensor]]
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors that `read_tensors` takes from a weights file, and its facts.

    framework  of the tensors, "pt" or "numpy"; only "pt" imports torch
    Raises ModelError ("weights-missing", "weights-damaged").
    """
    missing_error = ModelError(
        "weights-missing", f"{weights_path}: no such file; run the search again to make it"
    )
    # before the library: a training begins without.  Path.exists raises in a closed folder
    if not os.path.exists(weights_path):  # noqa: PTH110
        raise missing_error
    import safetensors

    try:
        with safetensors.safe_open(weights_path, framework=framework) as file:
            return read_tensors(file), json.loads((file.metadata() or {}).get("facts", "{}"))
    except FileNotFoundError:
        raise missing_error from None
    except (safetensors.SafetensorError, ValueError, RecursionError, OSError) as error:
        raise ModelError(
            "weights-damaged",
            f"{weights_path}: not readable as safetensors ({error}); remove it and run the search again",
        ) from None
