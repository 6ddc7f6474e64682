"""A model folder is what was written, or it is refused with a sentence: whatever became of any of its
files."""

from __future__ import annotations

import io
import json
import os
import shutil
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import nn
from typer.testing import CliRunner

from fovnet.cli import app
from fovnet.decision import novelty, orientation
from fovnet.decision.checks import unlike_training
from fovnet.decision.ensemble import Ensemble, load_ensemble
from fovnet.decision.folder import FACTS_FILE_NAME, RULE_FILE_NAME, ModelFolder, save_rule, seal
from fovnet.decision.networks import load_members
from fovnet.decision.parts import GREATEST_NETWORK_BYTES, GREATEST_PART_BYTES, SUMS_FILE_NAME
from fovnet.decision.predict import predict_volumes
from fovnet.errors import ModelError
from fovnet.maths.turns import VIEWS
from fovnet.net.inference.torch_engine import TorchEngine
from fovnet.records import checksum
from fovnet.results import Results
from fovnet.volume.slices.outlines import OUTLINE_SHAPE
from fovnet.volume.slices.stack import cut_slices
from fovnet.volume.sources.source import source_of
from fovnet.volume.volume import Volume

Spoil = Callable[[Path], object]
PARTS = (
    "ensemble.json",
    "decision.json",
    "member-0002.safetensors",
    "member-0005.safetensors",
    novelty.NOVELTY_FILE_NAME,
    orientation.ORIENTATION_FILE_NAME,
    SUMS_FILE_NAME,
)
NUMBERS = np.random.default_rng(3)
BODY = Volume(
    NUMBERS.gamma(2.0, 100.0, (40, 36, 24)).astype(np.float32),
    np.diag([8.0, 8.0, 8.0, 1.0]),
    "made",
)


@pytest.fixture(scope="module")
def whole(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished ensemble with every part there is, judged by all of them, and sealed."""
    folder = tmp_path_factory.mktemp("model") / "ensemble"
    shutil.copytree(Results(finished).ensemble, folder)
    layer = {
        "layer0.weight": torch.from_numpy(
            NUMBERS.normal(size=(len(VIEWS), int(np.prod(OUTLINE_SHAPE)))).astype(np.float16) / 500
        ),
        "layer0.bias": torch.zeros(len(VIEWS), dtype=torch.float16),
    }
    save_file(layer, folder / orientation.ORIENTATION_FILE_NAME)
    save_rule(
        folder,
        replace(ModelFolder(folder).rule, least_novelty=0.05, least_upright=0.01),
        {},
        settings={},
        seed=1,
    )
    seal(folder)
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "model"))


def answer_of(ensemble: Ensemble) -> dict[str, Any]:
    """The numbers of an answer, by name."""
    stack = cut_slices(BODY)
    outputs = ensemble.compute_volume_outputs(stack)
    given = ensemble.judge.answer("one", "", outputs, stack)
    bearing = ensemble.orientation and ensemble.orientation.judge_bearing(stack)
    assert given.decision is not None and given.signs is not None and bearing is not None
    return {
        "status": [given.status, given.code_text],
        "sure": given.decision.volume_confidence,
        "novelty": given.signs.value_of(unlike_training.CHECK).volume_p_value,
        "upright": bearing.upright_probability,
        "smoothed": given.decision.smoothed_probabilities.tolist(),
        "concepts": ensemble.vocabulary.regions,
    }


@pytest.fixture(scope="module")
def right(whole: Path) -> dict[str, Any]:
    return answer_of(load_ensemble(whole, "cpu"))


def refused(folder: Path) -> str:
    """The code of the refusal; empty if the folder is loaded."""
    try:
        load_ensemble(folder, "cpu")
    except ModelError as fault:
        assert str(folder) in fault.sentence or "SHA256SUMS" in fault.sentence
        return fault.code
    return ""


def holds(folder: Path, right: dict[str, Any]) -> str:
    """The law: the code of the refusal, or the answers of the undamaged folder."""
    code = refused(folder)
    if not code:
        assert answer_of(load_ensemble(folder, "cpu")) == right
    return code


def flipped(at: float) -> Spoil:
    def spoil(path: Path) -> None:
        content = bytearray(path.read_bytes())
        content[int(at * (len(content) - 1))] ^= 1 << int(at * 100) % 8
        path.write_bytes(content)

    return spoil


def replaced(make: Spoil) -> Spoil:
    def spoil(path: Path) -> None:
        path.unlink()
        make(path)

    return spoil


def outside(path: Path) -> None:
    away = path.parents[1] / "away"
    shutil.move(path, away)
    path.symlink_to(away)


SHAPES: dict[str, Spoil] = {
    "empty": lambda path: path.write_bytes(b""),
    "half": lambda path: os.truncate(path, path.stat().st_size // 2),
    "one byte short": lambda path: os.truncate(path, path.stat().st_size - 1),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "missing": lambda path: path.unlink(),
    "a folder": replaced(lambda path: path.mkdir()),
    "a pipe": replaced(os.mkfifo),
    "a device": replaced(lambda path: path.symlink_to("/dev/zero")),
    "a link to nothing": replaced(lambda path: path.symlink_to("nothing")),
    "a link in a circle": replaced(lambda path: path.symlink_to(path.name)),
    "a link that leaves": outside,
    "64 GiB of nothing": replaced(
        lambda path: (path.touch(), os.truncate(path, 2 * GREATEST_NETWORK_BYTES))
    ),
}
FLIPS: dict[str, Spoil] = {
    f"a bit at {at}": flipped(at)
    for at in (0.0, 0.004, 0.03, 0.11, 0.27, 0.5, 0.72, 0.9, 0.98, 1.0)
}


@pytest.mark.parametrize("name", PARTS)
def test_a_sealed_folder_is_refused_or_answers_as_before(
    folder: Path, right: dict[str, Any], name: str
) -> None:
    """Every damage to every file is found; only without its checksums is a folder taken for one of an earlier
    version."""
    for what, spoil in (SHAPES | FLIPS).items():
        kept = folder / name
        content = kept.read_bytes()
        spoil(kept)
        code = holds(folder, right)
        assert code or (name, what) in {
            (SUMS_FILE_NAME, "missing"),
            (SUMS_FILE_NAME, "one byte short"),
        }, what  # a line end
        kept.rmdir() if kept.is_dir() else kept.unlink(missing_ok=True)
        kept.write_bytes(content)
    assert holds(folder, right) == ""


@pytest.mark.parametrize("name", PARTS[:-1])
def test_a_folder_of_an_earlier_version_is_refused_or_answers_as_before(
    folder: Path, right: dict[str, Any], name: str
) -> None:
    (folder / SUMS_FILE_NAME).unlink()
    for what, spoil in SHAPES.items():
        kept = folder / name
        content = kept.read_bytes()
        spoil(kept)
        assert holds(folder, right) or (what == "one byte short" and name.endswith("json")), what
        kept.rmdir() if kept.is_dir() else kept.unlink(missing_ok=True)
        kept.write_bytes(content)
    assert holds(folder, right) == ""


@pytest.mark.parametrize("name", PARTS[:-1])
def test_a_flipped_bit_that_no_checksum_shows_ends_in_numbers_or_a_refusal(
    folder: Path, name: str
) -> None:
    (folder / SUMS_FILE_NAME).unlink()
    content = (folder / name).read_bytes()
    for spoil in FLIPS.values():
        spoil(folder / name)
        if not refused(folder):
            numbers = answer_of(load_ensemble(folder, "cpu"))
            assert all(
                np.isfinite(numbers[one]).all()
                for one in ("sure", "novelty", "upright", "smoothed")
            )
        (folder / name).write_bytes(content)


KINDS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "nan": lambda array: np.full_like(array, np.nan),
    "one nan": lambda array: np.where(
        np.arange(array.size).reshape(array.shape) == array.size // 2, np.nan, array
    ).astype(array.dtype),
    "inf": lambda array: np.full_like(array, np.inf),
    "-inf": lambda array: np.full_like(array, -np.inf),
    "one row": lambda array: array[:1],
    "one row more": lambda array: np.concatenate([array, array[-1:]]),
    "empty": lambda array: array[:0],
    "one axis more": lambda array: array[None],
    "a number": lambda array: array.reshape(-1)[0],
}


class TestArrays:
    """Damage that a checksum made afterwards would confirm: each array of each part spoilt by itself, the
    recorded sums made new."""

    @pytest.mark.parametrize("kind", KINDS)
    def test_of_the_novelty_reference(self, folder: Path, kind: str) -> None:
        """What was uncertain for being unlike the training slices never becomes sure."""
        (folder / SUMS_FILE_NAME).unlink()
        arrays = dict(np.load(folder / novelty.NOVELTY_FILE_NAME))
        for name, array in arrays.items():
            if array.ndim and not (array.dtype.kind == "i" and kind.endswith(("nan", "inf"))):
                np.savez(folder / novelty.NOVELTY_FILE_NAME, **arrays | {name: KINDS[kind](array)})
                # any number of them is possible
                other_classes = kind in ("one row", "one row more") and name == "classes"
                assert refused(folder) == ("" if other_classes else "novelty-damaged"), name

    @pytest.mark.parametrize("dtype", ["complex64", "U8", "datetime64[s]"])
    def test_of_the_novelty_reference_of_another_type(self, folder: Path, dtype: str) -> None:
        (folder / SUMS_FILE_NAME).unlink()
        arrays = dict(np.load(folder / novelty.NOVELTY_FILE_NAME))
        for name, array in arrays.items():
            np.savez(
                folder / novelty.NOVELTY_FILE_NAME,
                **arrays | {name: array.astype("i8").astype(dtype)},
            )
            assert refused(folder) == "novelty-damaged", name
        for name in arrays:
            np.savez(
                folder / novelty.NOVELTY_FILE_NAME,
                **{other: array for other, array in arrays.items() if other != name},
            )
            assert refused(folder) == "novelty-damaged", name

    @pytest.mark.parametrize("kind", [*KINDS, "3e38", "whole numbers"])
    @pytest.mark.parametrize("part", [orientation.ORIENTATION_FILE_NAME, "member-0005.safetensors"])
    def test_of_a_network(self, folder: Path, part: str, kind: str) -> None:
        (folder / SUMS_FILE_NAME).unlink()
        with safe_open(folder / part, "pt") as file:
            facts, tensors = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (not a mapping)
        spoil = KINDS.get(
            kind,
            lambda array: (
                np.full(array.shape, 3e38, np.float32) if kind == "3e38" else array.astype(np.int32)
            ),
        )
        for name, tensor in tensors.items():
            if not name.endswith("num_batches_tracked") and not (
                kind == "one row" and len(tensor) == 1
            ):
                spoilt = np.array(spoil(tensor.numpy()))
                save_file(tensors | {name: torch.from_numpy(spoilt)}, folder / part, facts)
                self._record(folder, part)
                code = refused(folder)
                assert (
                    code in {"orientation-damaged", "weights-misfit", "model-overflow"}
                    or kind == "3e38"
                ), name
                # a bias of the last layer, say: a senseless network, whose outputs are numbers
                if not code:
                    assert np.isfinite(answer_of(load_ensemble(folder, "cpu"))["sure"])

    def _record(self, folder: Path, part: str) -> None:
        facts = json.loads((folder / FACTS_FILE_NAME).read_text())
        for member in facts["members"]:
            if member["weights"] == part:
                member["sha256"] = checksum(folder / part)
        (folder / FACTS_FILE_NAME).write_text(json.dumps(facts))

    def test_of_all_weights_at_once(self, folder: Path) -> None:
        (folder / SUMS_FILE_NAME).unlink()
        part = "member-0002.safetensors"
        with safe_open(folder / part, "pt") as file:
            facts = file.metadata()
            tensors = {name: file.get_tensor(name).float() for name in file.keys()}  # noqa: SIM118
        save_file(
            {name: torch.full_like(tensor, 3e38) for name, tensor in tensors.items()},
            folder / part,
            facts,
        )
        self._record(folder, part)
        assert refused(folder) == "model-overflow"

    def test_that_claim_a_hundred_gigabytes_take_no_memory(self, folder: Path) -> None:
        """As the header of an array, as zeros packed a thousandfold, and as an architecture of networks."""
        (folder / SUMS_FILE_NAME).unlink()
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": "<f4", "fortran_order": False, "shape": (25 * 10**9,)}
        )
        with safe_open(folder / "member-0002.safetensors", "pt") as file:
            facts, tensors = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        tracemalloc.start()
        for content in (header.getvalue(), header.getvalue() + bytes(GREATEST_PART_BYTES)):
            with zipfile.ZipFile(
                folder / novelty.NOVELTY_FILE_NAME, "w", zipfile.ZIP_DEFLATED, compresslevel=1
            ) as archive:
                archive.writestr("known.npy", content)
            del content
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            assert refused(folder) == "novelty-damaged"
            assert tracemalloc.get_traced_memory()[1] - before < 2**24
        tracemalloc.stop()
        architecture = json.loads(facts["facts"])
        architecture["architecture"] |= {
            "blocks": 5,
            "convolutions": 50,
            "log2_filters": 12,
            "kernel": 99,
        }
        save_file(tensors, folder / "member-0002.safetensors", {"facts": json.dumps(architecture)})
        self._record(folder, "member-0002.safetensors")
        assert refused(folder) == "weights-misfit"


NAN, INF = float("nan"), float("inf")
STRANGE: tuple[Any, ...] = (
    NAN,
    INF,
    -INF,
    1e300,
    -1e300,
    10**400,
    "text",
    {},
    {"a": 1},
    True,
    None,
    [],
    [[]],
)


class TestJson:
    def _leaves(self, facts: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        inner = (
            facts.items()
            if isinstance(facts, dict)
            else enumerate(facts)
            if isinstance(facts, list)
            else ()
        )
        yield at
        for name, value in inner:
            yield from self._leaves(value, (*at, name))

    def _spoilt(self, facts: Any, at: tuple[Any, ...], value: Any) -> Any:
        if not at:
            return value
        copied = dict(facts) if isinstance(facts, dict) else list(facts)
        copied[at[0]] = self._spoilt(facts[at[0]], at[1:], value)
        return copied

    def test_of_the_rule_every_setting_is_what_it_may_be(self, folder: Path) -> None:
        (folder / SUMS_FILE_NAME).unlink()
        facts = json.loads((folder / RULE_FILE_NAME).read_text())
        for at in self._leaves(facts["rule"]):
            for value in STRANGE:
                (folder / RULE_FILE_NAME).write_text(
                    json.dumps(self._spoilt(facts, ("rule", *at), value))
                )
                empty = value in (None, []) and at[:1] in {("heights",), ("weights",)}
                try:
                    ModelFolder(folder).rule.refuse_unsound(folder / RULE_FILE_NAME, 2, 5)
                    assert empty, (at, value)
                except ModelError as fault:
                    assert fault.code in {"rule-invalid", "rule-missing", "rule-other-members"}

    def test_of_the_facts_everything_may_be_anything(self, folder: Path) -> None:
        (folder / SUMS_FILE_NAME).unlink()
        facts = json.loads((folder / FACTS_FILE_NAME).read_text())
        places = [
            at for at in self._leaves(facts) if at[:1] != ("regions",) or at[1:2] in ((), (0,))
        ]
        strange = [(at, value) for at in places for value in STRANGE]
        for at, value in strange[::7]:
            (folder / FACTS_FILE_NAME).write_text(json.dumps(self._spoilt(facts, at, value)))
            assert refused(folder) or value not in (NAN, INF, -INF), at

    @pytest.mark.parametrize(
        "name",
        [
            "/etc/passwd",
            "../model/../../x",
            "..",
            ".",
            "",
            "a\0b",
            "/dev/zero",
            5,
            None,
            ["a"],
            "x" * 5000,
        ],
    )
    def test_a_network_elsewhere_is_not_read(self, folder: Path, name: Any) -> None:
        (folder / SUMS_FILE_NAME).unlink()
        facts = json.loads((folder / FACTS_FILE_NAME).read_text())
        facts["members"][0]["weights"] = name
        (folder / FACTS_FILE_NAME).write_text(json.dumps(facts))
        assert refused(folder) in {"model-outside", "model-file", "weights-damaged"}


class TestSums:
    @pytest.mark.parametrize(
        "text",
        [
            "x",
            "0" * 64 + "  ../away",
            "0" * 64 + "  /etc/passwd",
            "\0",
            "\n\n",
            "0" * 63 + "  decision.json",
        ],
    )
    def test_a_list_that_is_none_is_refused(self, folder: Path, text: str) -> None:
        (folder / SUMS_FILE_NAME).write_text(text)
        assert refused(folder) in {"model-altered", "model-outside"}

    def test_a_part_that_is_not_listed_is_no_part(self, folder: Path) -> None:
        lines = (folder / SUMS_FILE_NAME).read_text().splitlines(keepends=True)
        for line in lines:
            (folder / SUMS_FILE_NAME).write_text("".join(other for other in lines if other != line))
            code = refused(folder)
            # torch does without the graph, and the weighing is told alone
            assert code == "model-altered" or "weighing" in line or "networks.onnx" in line

    def test_a_rule_saved_anew_is_not_held_against_the_sums_of_the_one_before(
        self, folder: Path
    ) -> None:
        save_rule(folder, replace(ModelFolder(folder).rule, sigma_mm=9.0), {}, settings={}, seed=1)
        assert (
            load_ensemble(folder, "cpu").rule.sigma_mm == 9.0
            and not (folder / SUMS_FILE_NAME).exists()
        )
        seal(folder)
        assert load_ensemble(folder, "cpu").rule.sigma_mm == 9.0


def test_networks_that_overflow_on_a_volume_refuse_it_and_the_next_is_answered(
    folder: Path, tmp_path: Path
) -> None:
    """Finite weights, tried and found sound on noise, and a picture that they were not made for."""
    path = tmp_path / "body.nii"
    nibabel.save(nibabel.Nifti1Image(BODY.voxels, BODY.vox_to_ras), path)
    sound = load_ensemble(folder, "cpu")
    spoilt = load_members(ModelFolder(folder))
    with torch.no_grad():
        for layer in (one for one in spoilt[0].modules() if isinstance(one, nn.Conv2d)):
            layer.weight.fill_(3e38)
    made = replace(sound, engine=TorchEngine(spoilt, torch.device("cpu")))
    both = [("a", source_of(path)), ("b", source_of(path))]
    assert [one.answer.code_text for one in predict_volumes(both, made)] == ["model-overflow"] * 2
    assert [one.answer.status for one in predict_volumes([("a", source_of(path))], sound)] != [
        "refused"
    ]


def test_an_orientation_network_that_overflows_refuses_the_volume(folder: Path) -> None:
    sound = load_ensemble(folder, "cpu")
    assert sound.orientation is not None
    layers = tuple((np.full_like(weight, 3e38), bias) for weight, bias in sound.orientation.layers)
    with pytest.raises(ModelError, match="model-overflow"):
        answer_of(replace(sound, orientation=orientation.Orientation(layers)))


def test_the_command_ends_with_a_sentence_where_the_reference_is_no_numbers(
    folder: Path, tmp_path: Path
) -> None:
    nibabel.save(nibabel.Nifti1Image(BODY.voxels, BODY.vox_to_ras), tmp_path / "body.nii")
    arrays = dict(np.load(folder / novelty.NOVELTY_FILE_NAME))
    np.savez(
        folder / novelty.NOVELTY_FILE_NAME,
        **{
            name: array * np.nan if array.dtype.kind == "f" else array
            for name, array in arrays.items()
        },
    )
    given = CliRunner().invoke(
        app,
        [
            "predict",
            str(tmp_path / "body.nii"),
            "--model",
            str(folder),
            "--out",
            str(tmp_path / "out"),
        ],
    )
    assert isinstance(given.exception, ModelError) and given.exception.code == "novelty-damaged"
    assert not (tmp_path / "out" / "spans.tsv").exists()


def test_the_settings_of_the_slices_are_numbers_that_slices_can_be_cut_with(folder: Path) -> None:
    (folder / SUMS_FILE_NAME).unlink()
    facts = json.loads((folder / FACTS_FILE_NAME).read_text())
    strange = (
        ("max_tilt_deg", "steep"),
        ("max_tilt_deg", -1),
        ("blacken_noise", "no"),
        ("target_spacing_mm", None),
        ("target_spacing_mm", 1e99),
    )
    for name, value in strange:
        (folder / FACTS_FILE_NAME).write_text(
            json.dumps(facts | {"prepare": facts["prepare"] | {name: value}})
        )
        assert refused(folder) == "model-damaged", name
