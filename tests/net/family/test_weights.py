"""Weights on disk, against the library whose format it is."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save

from fovnet.errors import ModelError
from fovnet.net.family.architecture import Architecture
from fovnet.net.family.model import build_network
from fovnet.net.family.weights import (
    TYPE_NAMES,
    load_network,
    load_tensors,
    save_network,
    save_tensors,
)

names = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=6).filter(
    lambda name: name != "__metadata__"
)
shapes = st.lists(st.integers(0, 3), max_size=3)


@given(
    st.dictionaries(names, st.tuples(st.sampled_from(list(TYPE_NAMES)), shapes), max_size=5),
    st.text(max_size=8),
)
def test_the_bytes_are_those_of_the_library(
    tmp_path_factory: pytest.TempPathFactory, kinds: dict, text: str
) -> None:
    tensors = {
        name: torch.arange(torch.Size(shape).numel()).reshape(shape).to(kind)
        for name, (kind, shape) in kinds.items()
    }
    path = save_tensors(
        tmp_path_factory.mktemp("weights") / "net.safetensors", tensors, {"text": text}
    )
    assert path.read_bytes() == save(tensors, {"facts": json.dumps({"text": text})})
    held, facts = load_tensors(path)
    assert facts == {"text": text}
    assert set(held) == set(tensors)
    assert all(
        torch.equal(held[name], tensors[name]) and held[name].dtype == tensors[name].dtype
        for name in tensors
    )


def test_what_lies_otherwise_in_memory_is_the_same_on_disk(tmp_path: Path) -> None:
    """Weights of convolutions are kept channels last, and every second number is a view."""
    laid = {
        "a": torch.rand(4, 3, 5, 5).contiguous(memory_format=torch.channels_last),
        "b": torch.arange(10.0)[::2].requires_grad_(),
    }
    path = save_tensors(tmp_path / "net.safetensors", laid, {})
    assert path.read_bytes() == save(
        {name: tensor.detach().contiguous() for name, tensor in laid.items()}, {"facts": "{}"}
    )


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda facts, tensors: tensors["classes.bias"].fill_(torch.nan), "weights-misfit"),
        (
            lambda facts, tensors: tensors.update(
                {"classes.bias": torch.zeros(3, dtype=torch.uint8)}
            ),
            "weights-misfit",
        ),
        (lambda facts, tensors: facts["architecture"].update(blocks=0), "weights-unknown"),
        (lambda facts, tensors: facts["architecture"].update(stride=0), "weights-unknown"),
        (lambda facts, tensors: tensors.pop("classes.bias"), "weights-misfit"),
    ],
)
def test_a_file_of_what_is_no_network_is_refused(
    tmp_path: Path, change: Callable[[dict, dict], object], code: str
) -> None:
    net = Architecture(4, 1, 2, 3, False, classes=3, head="gap")
    path = save_network(tmp_path / "net.safetensors", build_network(net), net, {})
    tensors, facts = load_tensors(path)
    assert load_network(path, torch.device("cpu"))[1] == facts
    change(facts, tensors)
    save_tensors(path, tensors, facts)
    with pytest.raises(ModelError, match=code):
        load_network(path, torch.device("cpu"))


GROWN = """
import sys
from pathlib import Path
import torch
from fovnet.machine.memory import peak_bytes
from fovnet.net.family.weights import save_tensors
tensors = {name: torch.ones(2**24) for name in "abcd"}
save_tensors(Path(sys.argv[1]), {"small": torch.ones(1)}, {})
before = peak_bytes()
save_tensors(Path(sys.argv[1]), tensors, {})
print(int(peak_bytes() - before))
"""


@pytest.mark.slow
def test_writing_takes_no_memory_worth_mentioning(tmp_path: Path) -> None:
    """268 MB in four tensors; the library's `save` takes twice as much again."""
    grown = subprocess.run(
        [sys.executable, "-c", GROWN, str(tmp_path / "a")],
        capture_output=True,
        text=True,
        timeout=900,
        check=True,
    )
    assert int(grown.stdout) < 20e6
