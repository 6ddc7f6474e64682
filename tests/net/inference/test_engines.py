"""Engines agree: whatever computes the networks, the answers are the same."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fovnet.errors import ConfigError, ModelError
from fovnet.net.family.architecture import Architecture
from fovnet.net.family.model import build_network
from fovnet.net.family.weights import load_network, load_tensors, save_network, save_tensors
from fovnet.net.images.inputs import load_images
from fovnet.net.images.unwarped import gather_slices
from fovnet.net.inference import side_by_side
from fovnet.net.inference.engines import PACKAGE_BY_ENGINE, Engine, refuse_unknown_engine
from fovnet.net.inference.graph import write_graph
from fovnet.net.inference.onnx_engine import GRAPH_FACTS_KEY, OnnxEngine
from fovnet.net.inference.torch_engine import TorchEngine
from fovnet.records import checksum
from fovnet.volume.slices.placing import Placing

CPU = torch.device("cpu")
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
SMALL = (Architecture(3, 1, 2, 3, False, 7, "gap"), Architecture(5, 1, 3, 5, True, 7, "fc"))
PLACED = (
    Architecture(
        3,
        1,
        2,
        3,
        False,
        7,
        "small",
        inputs=("slice", "neighbours", "millimetres", "sections"),
        norm="pooled",
    ),
)


def write_networks(
    folder: Path, shapes: Sequence[Architecture], precision: torch.dtype = torch.float32
) -> list[Path]:
    """The weight files of networks of these shapes, as drawn."""
    weight_files = []
    for member_index, shape in enumerate(shapes):
        network = build_network(shape, torch.Generator().manual_seed(member_index))
        path = save_network(folder / f"member-{member_index}.safetensors", network, shape, {})
        tensors, facts = load_tensors(path)
        rounded_tensors = {
            name: tensor.to(precision) if tensor.is_floating_point() else tensor
            for name, tensor in tensors.items()
        }
        weight_files.append(save_tensors(path, rounded_tensors, facts))
    return weight_files


def write_graph_of(weight_files: Sequence[Path]) -> Path:
    networks = [load_network(path, CPU)[0] for path in weight_files]
    return write_graph(weight_files[0].parent / "networks.onnx", networks, weight_files)


def open_onnx_engine(
    path: Path, weight_files: Sequence[Path], shapes: Sequence[Architecture]
) -> OnnxEngine:
    return OnnxEngine(path, shapes, [checksum(file) for file in weight_files])


def make_engines(
    folder: Path, shapes: Sequence[Architecture], precision: torch.dtype = torch.float32
) -> tuple[TorchEngine, OnnxEngine]:
    weight_files = write_networks(folder, shapes, precision)
    torch_engine = TorchEngine([load_network(path, CPU)[0] for path in weight_files], CPU)
    return torch_engine, open_onnx_engine(write_graph_of(weight_files), weight_files, shapes)


def draw_slices(count: int) -> np.ndarray:
    return np.random.default_rng(count).integers(0, 256, (count, 128, 128)).astype(np.uint8)


def place(count: int, side_mm: float = 400.0) -> Placing:
    """Two volumes, one above the other."""
    return Placing(np.full(count, side_mm), np.arange(count) * 2 // count, np.arange(count) * 4.0)


@given(shapes=st.lists(SHAPES, min_size=1, max_size=3), count=st.integers(1, 4))
@settings(max_examples=5)
def test_an_engine_computes_what_torch_computes(
    tmp_path_factory: pytest.TempPathFactory, shapes: list[Architecture], count: int
) -> None:
    engines = make_engines(tmp_path_factory.mktemp("networks"), shapes)
    (expected, expected_features), (probabilities, features) = (
        engine.compute_outputs(draw_slices(count), np.arange(count)) for engine in engines
    )
    np.testing.assert_allclose(probabilities, expected, atol=1e-4)
    np.testing.assert_allclose(
        features, expected_features, rtol=1e-4, atol=1e-5 * expected_features.max()
    )


@pytest.mark.parametrize("precision", [torch.float32, torch.float16])
@pytest.mark.parametrize("side_mm", [180.0, 400.0])
def test_what_a_slice_shows_beside_itself_is_the_same_for_both(
    side_mm: float, precision: torch.dtype, tmp_path: Path
) -> None:
    torch_engine, onnx_engine = make_engines(tmp_path, PLACED, precision)
    rows, placing = np.array([1, 3, 4, 9]), place(10, side_mm)
    expected, expected_features = torch_engine.compute_outputs(draw_slices(10), rows, placing)
    probabilities, features = onnx_engine.compute_outputs(draw_slices(10), rows, placing)
    np.testing.assert_allclose(probabilities, expected, atol=1e-5)
    np.testing.assert_allclose(features, expected_features, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("side_mm", [90.0, 180.0, 255.0, 256.0, 300.5, 512.0, 900.0])
def test_images_for_prediction_are_those_of_training_without_a_warp(side_mm: float) -> None:
    """Bilinear interpolation between pixels of noise rounds otherwise, by 1e-5; the rest is the same to the
    bit."""
    kinds, rows = PLACED[0].inputs, np.array([0, 2, 5, 6, 9])
    pixels, placing = draw_slices(10), place(10, side_mm)
    images = gather_slices(pixels, rows, kinds, placing).make_images(slice(1, 4))
    expected = load_images(pixels, rows[1:4], kinds, placing, CPU).numpy()
    is_exact = np.array([True, True, True, False, True, True])
    np.testing.assert_array_equal(images[:, is_exact], expected[:, is_exact])
    np.testing.assert_allclose(images, expected, atol=1e-5)


def test_networks_that_need_a_placing_say_so_without_one(tmp_path: Path) -> None:
    for engine in make_engines(tmp_path, PLACED):
        with pytest.raises(ModelError, match="millimetres, sections need") as refused:
            engine.compute_outputs(draw_slices(2), np.arange(2))
        assert refused.value.code == "inputs-unplaced"


def test_an_answer_does_not_depend_on_the_slices_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts of 3 and 4 out of 7; and outputs stay as they are when others are computed."""
    _, engine = make_engines(tmp_path, SMALL)
    outputs = engine.compute_outputs(draw_slices(7), np.arange(7))
    copies = [output.copy() for output in outputs]
    monkeypatch.setattr(side_by_side, "FEWEST_ROWS_PER_PART", 3)
    outputs_in_parts = engine.compute_outputs(draw_slices(7), np.arange(7))
    for output, expected in zip(outputs_in_parts, copies, strict=True):
        np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-6)
    for output, copy in zip(outputs, copies, strict=True):
        np.testing.assert_array_equal(output, copy)


def test_no_bit_of_an_answer_depends_on_the_number_of_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for engine in make_engines(tmp_path, SMALL):
        outputs_by_count: dict[int, list[bytes]] = {}
        for thread_count in (1, 2, 3, 8):
            monkeypatch.setattr(side_by_side, "cores", lambda count=thread_count: count)
            outputs = engine.compute_outputs(draw_slices(40), np.arange(40))
            outputs_by_count[thread_count] = [output.tobytes() for output in outputs]
        assert all(outputs == outputs_by_count[1] for outputs in outputs_by_count.values())


def test_a_network_that_sees_the_slice_alone_has_a_graph_that_does(tmp_path: Path) -> None:
    (weight_file,) = write_networks(tmp_path, PLACED)
    tensors, facts = load_tensors(weight_file)
    save_tensors(weight_file, tensors, {**facts, "alone": True})
    engine = open_onnx_engine(write_graph_of([weight_file]), [weight_file], PLACED)
    pixels = draw_slices(6)
    probabilities, _ = engine.compute_outputs(pixels, np.array([2]), place(6))
    pixels[3:] = 0  # its neighbours and sections
    same_probabilities, _ = engine.compute_outputs(pixels, np.array([2]), place(6))
    np.testing.assert_allclose(probabilities, same_probabilities, atol=1e-6)


def test_the_graph_holds_no_weights_and_any_program_of_onnx_reads_them_beside_it(
    tmp_path: Path,
) -> None:
    weight_files = write_networks(tmp_path, SMALL, torch.float16)
    path = write_graph_of(weight_files)
    assert path.stat().st_size < 0.1 * sum(file.stat().st_size for file in weight_files)
    onnx.checker.check_model(str(path), full_check=True)
    tensors, _ = load_tensors(weight_files[1])
    arrays = {
        weight.name: onnx.numpy_helper.to_array(weight)
        for weight in onnx.load(path).graph.initializer
    }
    name = "block0_conv0.across.weight"
    np.testing.assert_array_equal(arrays[f"member1.{name}.float16"], tensors[name].numpy())


def damage_of_graph(path: Path, damage: str) -> None:
    """Changes a graph file; a newer opset is one that no runtime knows."""
    if damage == "absent":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "no graph":
        path.write_text("this is no graph")
    else:
        graph = onnx.load(path, load_external_data=False)
        if damage == "newer opset":
            graph.opset_import[0].version = 999
        elif damage == "no facts":
            del graph.metadata_props[:]
        else:
            graph_facts = json.loads(graph.metadata_props[0].value)
            del graph_facts["probe"]
            if damage == "empty probe":
                no_numbers = {"shape": [0], "float32": ""}
                graph_facts["probe"] = {"probabilities": no_numbers, "features": no_numbers}
            graph.metadata_props[0].value = json.dumps(graph_facts)
        path.write_bytes(graph.SerializeToString())


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        ("absent", "graph-missing"),
        ("cut", "graph-unusable"),
        ("empty", "graph-unusable"),
        ("no graph", "graph-unusable"),
        ("newer opset", "graph-unusable"),
        ("no facts", "graph-unusable"),
        ("no probe", "graph-unusable"),
        ("empty probe", "graph-unusable"),
    ],
)
def test_a_graph_that_cannot_be_used_is_a_sentence(damage: str, code: str, tmp_path: Path) -> None:
    weight_files = write_networks(tmp_path, SMALL)
    path = write_graph_of(weight_files)
    damage_of_graph(path, damage)
    with pytest.raises(ModelError, match="fovnet export graph") as refused:
        open_onnx_engine(path, weight_files, SMALL)
    assert refused.value.code == code and str(path) in str(refused.value)


def test_a_graph_of_other_weights_is_not_used(tmp_path: Path) -> None:
    weight_files = write_networks(tmp_path, SMALL)
    path = write_graph_of(weight_files)
    tensors, facts = load_tensors(weight_files[0])
    save_tensors(weight_files[0], {**tensors, "classes.bias": tensors["classes.bias"] + 1}, facts)
    with pytest.raises(ModelError, match="other networks") as refused:
        open_onnx_engine(path, weight_files, SMALL)
    assert refused.value.code == "graph-of-others"


def test_a_graph_of_the_same_networks_in_another_order_is_not_used(tmp_path: Path) -> None:
    """Members have weights of their own in the mean."""
    weight_files = write_networks(tmp_path, SMALL)
    path = write_graph_of(weight_files)
    with pytest.raises(ModelError, match="another order"):
        open_onnx_engine(path, weight_files[::-1], SMALL[::-1])
    with pytest.raises(ModelError, match="other networks"):
        open_onnx_engine(path, [weight_files[0], weight_files[0]], [SMALL[0], SMALL[0]])


def test_weights_may_lie_in_a_folder_below_the_graphs(tmp_path: Path) -> None:
    (tmp_path / "weights").mkdir()
    weight_files = write_networks(tmp_path / "weights", SMALL)
    networks = [load_network(weight_file, CPU)[0] for weight_file in weight_files]
    path = write_graph(tmp_path / "networks.onnx", networks, weight_files)
    assert open_onnx_engine(path, weight_files, SMALL).member_count == len(SMALL)


def test_a_runtime_that_computes_something_else_is_not_used(tmp_path: Path) -> None:
    """The recorded outputs change in place of its kernels."""
    weight_files = write_networks(tmp_path, SMALL)
    path = write_graph_of(weight_files)
    graph = onnx.load(path, load_external_data=False)
    (facts_property,) = graph.metadata_props
    assert facts_property.key == GRAPH_FACTS_KEY
    graph_facts = json.loads(facts_property.value)
    other_weights = write_networks(tmp_path, [SMALL[1], SMALL[0]])
    other_graph = onnx.load(write_graph_of(other_weights), load_external_data=False)
    graph_facts["probe"] = json.loads(other_graph.metadata_props[0].value)["probe"]
    facts_property.value = json.dumps(graph_facts)
    weight_files = write_networks(tmp_path, SMALL)
    path.write_bytes(graph.SerializeToString())
    with pytest.raises(ModelError, match="differ from torch's") as refused:
        open_onnx_engine(path, weight_files, SMALL)
    assert refused.value.code == "engine-differs"


def test_a_missing_runtime_is_reported_with_what_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weight_files = write_networks(tmp_path, SMALL)
    path = write_graph_of(weight_files)
    # an import of it now fails as if it were not installed
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ModelError, match="pip install onnxruntime") as missing:
        open_onnx_engine(path, weight_files, SMALL)
    assert missing.value.code == "engine-missing"


def test_an_unknown_engine_is_refused_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match=", ".join(PACKAGE_BY_ENGINE)):
        refuse_unknown_engine("tensorflow")


def test_both_are_engines(tmp_path: Path) -> None:
    engines: tuple[Engine, Engine] = make_engines(tmp_path, PLACED)
    assert [engine.name for engine in engines] == list(PACKAGE_BY_ENGINE)
    for engine in engines:
        assert engine.member_count == 1 and engine.input_kinds == PLACED[0].inputs


WATCHED = """
import sys
TOLD = ("socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethostbyname")
sys.addaudithook(lambda event, args: event in TOLD and (print(event, args), sys.stdout.flush(), __import__("os")._exit(1)))
import fovnet
fovnet.load(engine=sys.argv[1])
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", PACKAGE_BY_ENGINE)
def test_no_engine_tells_anybody_anything(name: str, tmp_path: Path) -> None:
    """No host is looked up or called and nothing is written at home, as both runtimes' telemetry would: their
    identifiers lie there."""
    home = {"HOME": str(tmp_path), "PYTHONPATH": ":".join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, name], env=home, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert not list(tmp_path.iterdir())
