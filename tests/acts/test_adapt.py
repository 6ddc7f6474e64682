"""Networks adapted to a few labelled volumes: two small ones, drawn at random, on volumes of blobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
from typer.testing import CliRunner

import fovnet
from fovnet.acts.adapt import FEWEST_SUBJECTS, adapt_ensemble, settings_of_adaptation
from fovnet.acts.run import Run
from fovnet.cli import app
from fovnet.config.files import load_settings, parse
from fovnet.errors import CollectionError, FovnetError
from fovnet.evaluate.gains import GAIN_COLUMNS
from fovnet.records import checksum, read_columns, read_json, read_tsv, write_tsv
from fovnet.regions import DEFAULT, Vocabulary
from fovnet.results import SHIPPED_NETWORKS

CONFIGS = Path(__file__).parents[2] / "configs"
SMALL = {
    "blocks": 4,
    "convolutions": 1,
    "log2_filters": 2,
    "kernel": 3,
    "separable": False,
    "log10_learning_rate": -2,
    "log2_batch": 3,
}


def collection(
    folder: Path, subjects: int, first: int, names: tuple[str, str] = ("abdomen", "chest")
) -> Path:
    """Volumes of 72 mm, the lower half abdomen and the upper chest, or of other names: a disc of another size
    and brightness."""
    rng, volumes, regions = np.random.default_rng(first), [], []
    i, j = np.mgrid[:40, :40] - 19.5
    for number in range(first, first + subjects):
        name = f"v{number:02d}"
        widths = np.where(np.arange(12) < 6, 17, 11) + rng.integers(-1, 2)
        disc = np.hypot(i, j)[:, :, None] < widths
        voxels = 600 * disc * np.where(np.arange(12) < 6, 1.0, 0.6) + rng.normal(
            60, 15, (40, 40, 12)
        )
        (folder / "volumes").mkdir(parents=True, exist_ok=True)
        nib.save(
            nib.Nifti1Image(np.abs(voxels).astype(np.float32), np.diag([8.0, 8.0, 6.0, 1.0])),
            folder / "volumes" / f"{name}.nii.gz",
        )
        volumes.append(
            {
                "volume_id": name,
                "subject_id": f"p{number:02d}",
                "path": f"volumes/{name}.nii.gz",
                "field_of_view": "trunk",
                "plane": "axial",
            }
        )
        regions += [
            {"volume_id": name, "region": region, "first_slice": low, "last_slice": low + 5}
            for region, low in zip(names, (0, 6), strict=True)
        ]
    write_tsv(folder / "regions.tsv", list(regions[0]), regions)
    write_tsv(folder / "volumes.tsv", list(volumes[0]), volumes)
    return folder


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An ensemble of two small networks with weights as drawn."""
    return draw_ensemble(tmp_path_factory.mktemp("begun"), DEFAULT)


def draw_ensemble(
    folder: Path, vocabulary: Vocabulary, facts: dict[str, Any] | None = None
) -> Path:
    """The same for another vocabulary, with facts of its rule, in a folder."""
    import torch

    from fovnet.decision.assembly import write_ensemble
    from fovnet.decision.folder import save_rule, seal
    from fovnet.decision.rule import Rule
    from fovnet.net.family.architecture import architecture_of_configuration
    from fovnet.net.family.model import build_network
    from fovnet.net.family.weights import save_network
    from fovnet.volume.slices.stack import Slicing, describe_slice_format

    prepare = {"target_spacing_mm": 6.0}
    inputs = {
        "classes": list(vocabulary.classes),
        "slices": describe_slice_format(Slicing(**prepare)),
    }
    members = []
    for slot, rate in enumerate((-2, -1)):
        configuration = {**SMALL, "log10_learning_rate": rate}
        net = architecture_of_configuration(
            configuration, classes=len(vocabulary.classes), head="gap"
        )
        path = folder / "drawn" / f"{slot}.safetensors"
        save_network(path, build_network(net, torch.Generator().manual_seed(slot)), net, inputs)
        members.append(
            {"slot": slot, "score": 1.0, "configuration": configuration, "weights": str(path)}
        )
    write_ensemble(folder / "ensemble", members, vocabulary, prepare, settings={}, seed=1)
    rule = Rule(yes_bar=0.8, no_bar=0.8)
    save_rule(folder / "ensemble", rule, facts or {}, settings={}, seed=1)
    seal(folder / "ensemble")
    return folder / "ensemble"


def run_of(begun: Path, labels: Path, out: Path) -> Run:
    """The run of `fovnet adapt`, with as little to learn as there can be."""
    few = settings_of_adaptation(labels, out, begun, seed=1).model_dump(mode="json")
    few["evaluate"] = {"bootstrap": 100}
    return Run(labels, parse(few, "few"))


@pytest.mark.slow
def test_an_adapted_ensemble_answers_and_its_gains_are_told(begun: Path, tmp_path: Path) -> None:
    labels, out = collection(tmp_path / "labels", FEWEST_SUBJECTS, 0), tmp_path / "out"
    collection(out / "phantom", 8, 50)  # in the place of simulated people
    made = adapt_ensemble(run_of(begun, labels, out))
    answer = fovnet.load(made.ensemble_folder).predict(labels / "volumes" / "v00.nii.gz")
    assert (
        answer.status in ("ok", "partly", "uncertain")
        and made.subject_count == made.volume_count == FEWEST_SUBJECTS
    )
    assert read_columns(made.gains_table) == list(GAIN_COLUMNS)
    told = read_json(out / "adapted.json")
    assert [one["measure"] for one in told["gains"]] == [
        row["measure"] for row in read_tsv(made.gains_table)
    ]
    assert (
        told["certainty"] == made.certainty_in_words
        and "certain" in made.certainty_in_words
        and not made.notes
    )
    assert told["share"] == made.new_weight_share and bool(made.reason_for_keeping) == (
        made.new_weight_share == 0.0
    )
    same = [
        checksum(path) == checksum(made.ensemble_folder / path.name)
        for path in begun.glob("member-*.safetensors")
    ]
    assert all(same) if made.new_weight_share == 0.0 else not any(same)
    said = {path: path.stat().st_mtime_ns for path in out.glob("answers/*.npz")}
    assert len(said) >= 2 + FEWEST_SUBJECTS
    again = adapt_ensemble(run_of(begun, labels, out))
    assert again.new_weight_share == made.new_weight_share and all(
        path.stat().st_mtime_ns == was for path, was in said.items()
    )


def test_four_subjects_are_too_few_and_nobody_is_simulated_for_them(
    begun: Path, tmp_path: Path
) -> None:
    labels, out = collection(tmp_path / "labels", FEWEST_SUBJECTS - 1, 0), tmp_path / "out"
    with pytest.raises(
        CollectionError,
        match=r"4 labelled subjects in .*labels/volumes.tsv, at least 5 .* of 1 more",
    ) as few:
        adapt_ensemble(run_of(begun, labels, out))
    assert few.value.code == "adapt-few"
    command = ["adapt", "--labels", str(labels), "--out", str(out), "--model", str(begun)]
    refused = CliRunner().invoke(app, command).exception
    assert isinstance(refused, FovnetError) and refused.code == "adapt-few" and not out.exists()


@pytest.mark.parametrize("gone", [1, 2, 6])
def test_missing_files_are_looked_for_before_anybody_is_simulated(
    begun: Path, tmp_path: Path, gone: int
) -> None:
    """440 volumes were simulated before 4 labelled subjects could be read."""
    labels, out = collection(tmp_path / "labels", FEWEST_SUBJECTS - 1 + gone, 0), tmp_path / "out"
    for number in range(gone):
        (labels / "volumes" / f"v{number:02d}.nii.gz").unlink()
    with pytest.raises(CollectionError) as refused:
        adapt_ensemble(run_of(begun, labels, out))
    told = refused.value.sentence
    assert refused.value.code == "adapt-few" and not out.exists()
    assert f"{gone} of its files" in told and "v00.nii.gz" in told
    assert "4 labelled subjects with a file" in told


def test_words_of_ones_own_are_told_which_are_wanted(begun: Path, tmp_path: Path) -> None:
    labels = collection(tmp_path / "labels", FEWEST_SUBJECTS, 0)
    table = labels / "regions.tsv"
    table.write_text(table.read_text().replace("abdomen", "Bauch").replace("chest", "Beine"))
    with pytest.raises(CollectionError) as refused:
        adapt_ensemble(run_of(begun, labels, tmp_path / "out"))
    told = refused.value.sentence
    assert (
        "did you mean" not in told
        and "write one of legs, pelvis, abdomen, chest, head, spine" in told
    )


def test_networks_of_other_regions_are_refused(begun: Path, tmp_path: Path) -> None:
    labels = collection(tmp_path / "labels", FEWEST_SUBJECTS, 0)
    (tmp_path / "regions.yaml").write_text("regions: [{name: thigh, rung: 0, colour: '#0072b2'}]\n")
    settings = run_of(begun, labels, tmp_path / "out").settings
    other = settings.model_copy(update={"regions": str(tmp_path / "regions.yaml")})
    with pytest.raises(FovnetError, match=r"its networks name legs.*thigh") as fault:
        adapt_ensemble(Run(labels, other))
    assert fault.value.code == "adapt-other-regions"


def test_a_folder_that_holds_something_else_in_the_ensembles_place_is_left_alone(
    begun: Path, tmp_path: Path
) -> None:
    labels, out = collection(tmp_path / "labels", FEWEST_SUBJECTS, 0), tmp_path / "out"
    (out / "ensemble").mkdir(parents=True)
    (out / "ensemble" / "scores.txt").write_text("of an orchestra")
    with pytest.raises(FovnetError) as fault:
        adapt_ensemble(run_of(begun, labels, out))
    assert fault.value.code == "out-foreign" and (out / "ensemble" / "scores.txt").exists()


def test_the_configuration_file_says_what_the_command_does_without_one() -> None:
    told = load_settings(CONFIGS / "adapt.yaml").model_dump()
    done = settings_of_adaptation(
        Path("labels"), Path("results/adapted"), SHIPPED_NETWORKS, 1
    ).model_dump()
    done["training"]["begin"] = "shipped"
    assert told == done


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--labels", "x"], "adapt-what"),
        (["--config", "x.yaml", "--out", "y"], "adapt-both"),
    ],
)
def test_half_a_command_is_refused(words: list[str], code: str) -> None:
    fault = CliRunner().invoke(app, ["adapt", *words]).exception
    assert isinstance(fault, FovnetError) and fault.code == code
