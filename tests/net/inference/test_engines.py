"""Engines agree: whatever computes the networks, the answers are the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from fovnet.errors import ConfigError, ModelError
from fovnet.net.family.architecture import Architecture
from fovnet.net.family.model import Network, build_network
from fovnet.net.inference import engines, side_by_side
from fovnet.net.inference.engines import ENGINE_BY_NAME, choose_engine, list_installed_engines
from fovnet.net.inference.member_outputs import compute_member_outputs

CPU = torch.device("cpu")
HERE = [name for name in list_installed_engines() if name != "torch"]
SHAPES = st.builds(
    Architecture,
    blocks=st.integers(1, 5),
    convolutions=st.integers(1, 2),
    log2_filters=st.integers(2, 4),
    kernel=st.sampled_from([3, 5]),
    separable=st.booleans(),
    classes=st.just(7),
    head=st.just("gap"),
)


def members(shapes: list[Architecture]) -> list[Network]:
    return [
        build_network(shape, torch.Generator().manual_seed(at)).eval()
        for at, shape in enumerate(shapes)
    ]


def slices(n: int) -> np.ndarray:
    return np.random.default_rng(n).integers(0, 256, (n, 128, 128)).astype(np.uint8)


SMALL = [Architecture(3, 1, 2, 3, False, 7, "gap"), Architecture(5, 1, 3, 5, True, 7, "fc")]
ODD = [
    Network(
        nn.BatchNorm2d(1),
        nn.Conv2d(1, 4, 3),
        nn.MaxPool2d(2),
        nn.Softsign(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
    ).eval()
]


@pytest.mark.parametrize("name", HERE)
@given(shapes=st.lists(SHAPES, min_size=1, max_size=3), n=st.integers(1, 4))
@settings(max_examples=5)
def test_an_engine_computes_what_torch_computes(
    name: str, shapes: list[Architecture], n: int
) -> None:
    networks, pixels = members(shapes), slices(n)
    probabilities, features = compute_member_outputs(
        networks, pixels, CPU, engine=choose_engine(name, networks, CPU)
    )
    wanted, deviations = compute_member_outputs(networks, pixels, CPU)
    np.testing.assert_allclose(probabilities, wanted, atol=1e-4)
    np.testing.assert_allclose(features, deviations, rtol=1e-4, atol=1e-5 * deviations.max())


@pytest.mark.parametrize("name", HERE)
def test_an_answer_does_not_depend_on_the_slices_beside_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts of 3 and 4 out of 7; and an engine's outputs stay as they are when it computes others."""
    networks, pixels = members(SMALL), slices(7)
    engine = choose_engine(name, networks, CPU)
    probabilities, features = compute_member_outputs(networks, pixels, CPU, engine=engine)
    kept = probabilities.copy()
    monkeypatch.setattr(side_by_side, "FEWEST_ROWS_PER_PART", 3)
    for given_, wanted in zip(
        compute_member_outputs(networks, pixels, CPU, engine=engine), (kept, features), strict=True
    ):
        np.testing.assert_allclose(given_, wanted, rtol=1e-5, atol=1e-6)
    compute_member_outputs(networks, slices(8), CPU, engine=engine)
    np.testing.assert_array_equal(probabilities, kept)


@pytest.mark.parametrize("name", list_installed_engines())
def test_no_bit_of_an_answer_depends_on_the_number_of_threads(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    networks, pixels = members(SMALL), slices(40)
    engine, given_ = choose_engine(name, networks, CPU), []
    for threads in (1, 2, 3, 8):
        monkeypatch.setattr(side_by_side, "cores", lambda threads=threads: threads)
        given_.append(compute_member_outputs(networks, pixels, CPU, engine=engine))
    for probabilities, features in given_[1:]:
        assert np.array_equal(probabilities, given_[0][0]) and np.array_equal(
            features, given_[0][1]
        )


@pytest.mark.parametrize("name", HERE)
def test_networks_an_engine_cannot_express_are_refused_by_the_layer(name: str) -> None:
    with pytest.raises(ModelError, match="Softsign") as refused:
        choose_engine(name, ODD, CPU)
    assert refused.value.code == "graph-layer"


def test_auto_answers_for_any_networks_and_takes_the_fastest_there_is() -> None:
    assert choose_engine("auto", ODD, CPU).name == "torch"
    expected = "onnx" if "onnx" in HERE else "torch"
    assert choose_engine("auto", members(SMALL[:1]), CPU).name == expected


@pytest.mark.parametrize("name", HERE)
def test_a_missing_package_is_reported_with_what_installs_it_and_auto_does_without(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # an import of it now fails as if it were not installed
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ModelError, match=rf"pip install 'fovnet\[{name}\]'") as missing:
        choose_engine(name, members(SMALL[:1]), CPU)
    assert missing.value.code == "engine-missing"
    assert choose_engine("auto", members(SMALL[:1]), CPU).name == "torch"


def test_networks_on_another_device_are_torchs() -> None:
    assert choose_engine("auto", ODD, torch.device("meta")).name == "torch"
    with pytest.raises(ConfigError, match="--device cpu"):
        choose_engine("onnx", ODD, torch.device("meta"))


def test_an_unknown_engine_is_refused_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match=", ".join(ENGINE_BY_NAME)):
        choose_engine("tensorflow", ODD, CPU)


@pytest.mark.parametrize("name", HERE)
def test_an_engine_that_says_something_else_is_not_used(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The weights change behind its back, as a wrong kernel of a runtime would."""
    networks = members(SMALL[:1])
    drawn = engines.build_graph

    def other(given: list[Network]) -> object:
        graph = drawn(given)
        with torch.no_grad():
            networks[0].get_submodule("classes").weight.add_(torch.linspace(-1, 1, 7)[:, None])
        return graph

    monkeypatch.setattr(engines, "build_graph", other)
    with pytest.raises(ModelError, match="differ from torch's") as refused:
        choose_engine(name, networks, CPU)
    assert refused.value.code == "engine-differs"
    assert choose_engine("auto", networks, CPU).name == "torch"


WATCHED = """
import sys
sys.addaudithook(lambda event, args: event.startswith("socket.") and (print(event, args), sys.stdout.flush(), __import__("os")._exit(1)))
import torch
from fovnet.net.family.architecture import Architecture
from fovnet.net.inference.engines import choose_engine
from fovnet.net.family.model import build_network
choose_engine(sys.argv[1], [build_network(Architecture(1, 1, 2, 3, False, 7, "gap")).eval()], torch.device("cpu"))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", HERE)
def test_no_engine_tells_anybody_anything(name: str, tmp_path: Path) -> None:
    """No socket is opened and nothing is written at home, as both runtimes' telemetry would: their
    identifiers lie there."""
    home = {"HOME": str(tmp_path), "PYTHONPATH": ":".join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, name], env=home, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert not list(tmp_path.iterdir())
