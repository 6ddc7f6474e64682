"""What a sentence says is to run, a shell takes as it was meant."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fovnet.cli import app
from fovnet.commands import predicting, simulating, with_config
from fovnet.config.files import parse
from fovnet.errors import FovnetError, ModelError, VolumeError
from fovnet.results import Results, shipped_folder
from fovnet.volume.sources.source import read


@pytest.mark.parametrize(
    "name", ["mine.yaml", "it's mine.yaml", "a $HOME; b.yaml", '"x".yaml', "*"]
)
def test_a_verb_of_two_words_and_any_name_come_through_a_shell(name: str) -> None:
    assert shlex.split(with_config("search explain", Path(name))) == [
        "fovnet",
        "search",
        "explain",
        "--config",
        name,
    ]


@pytest.mark.parametrize(
    "results", ["res ü it's", "results", "a b/$HOME", 'x"y', "`id`", "a;b", "(1)", "*"]
)
def test_an_ensemble_of_any_name_comes_through_a_shell(results: str) -> None:
    words = shlex.split(predicting(Path(results, "ensemble")))
    assert words == [
        "fovnet",
        "predict",
        "FILES",
        "--model",
        f"{results}/ensemble",
        "--out",
        "answers",
    ]


@pytest.mark.parametrize("name", ["res ü it's", "a b", "$HOME", "a;b"])
def test_messages_with_a_command_in_them_can_be_pasted(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(VolumeError, match="twelve hexadecimal digits") as series:
        read(Path(f"{tmp_path / name}#12345"))
    (command,) = re.findall(r"`(.*?)` show", series.value.sentence)
    assert shlex.split(command) == ["fovnet", "predict", str(tmp_path / name)]
    with pytest.raises(ModelError, match="has no networks") as model:
        shipped_folder(tmp_path / name)
    assert shlex.split(model.value.sentence.partition("then ")[2])[-2:] == [
        "--out",
        str(tmp_path / name),
    ]


def test_the_simulated_people_are_told_with_what_they_go_without() -> None:
    made = {"subjects": 9, "volumes_per_subject": 2, "without": ["turned headers", "masks"]}
    words = shlex.split(
        simulating(parse({"results": "my results", "seed": 4, "phantom": made}, "test"))
    )
    assert words[:3] == ["fovnet", "phantom", "my results/phantom"]
    assert words[3:9] == ["--subjects", "9", "--volumes", "2", "--seed", "4"]
    assert words[9:] == ["--without", "turned headers", "--without", "masks"]
    of_nine = parse({"results": "r", "phantom": made, "regions": "nine"}, "test")
    assert shlex.split(simulating(of_nine))[-2:] == ["--vocabulary", "nine"]


def test_people_are_to_simulate_until_their_table_is_there(tmp_path: Path) -> None:
    results = Results(tmp_path)
    results.phantom.mkdir()
    assert results.is_to_simulate(8) and not results.is_to_simulate(0)
    (results.phantom / "volumes.tsv").touch()
    assert not results.is_to_simulate(8)


@pytest.mark.parametrize(
    "verb", ["search", "ensemble", "tune", "decide", "evaluate", "ablate", "report"]
)
def test_without_slices_a_verb_says_how_these_are_cut(verb: str, tmp_path: Path) -> None:
    config = tmp_path / "mine.yaml"
    config.write_text(f"results: {tmp_path / 'results'}\nphantom: {{subjects: 8}}\n")
    fault = CliRunner().invoke(app, [verb, "--config", str(config)]).exception
    assert f"`fovnet slice --config {config}` first" in str(fault)


@pytest.mark.parametrize(
    ("verb", "code"), [("slice", "phantom-missing"), ("train", "pack-missing")]
)
def test_what_is_to_run_first_can_be_copied_into_a_shell(
    verb: str, code: str, tmp_path: Path
) -> None:
    """Names with blanks and quotation marks among it."""
    config = tmp_path / "it's mine.yaml"
    config.write_text(
        f"results: {tmp_path / 'my results'}\nphantom: "
        f"{{subjects: 2, volumes_per_subject: 1, without: [turned headers]}}\n"
    )
    out = ["--out", str(tmp_path / "out")] if verb == "train" else []
    fault = CliRunner().invoke(app, [verb, "--config", str(config), *out]).exception
    assert isinstance(fault, FovnetError) and fault.code == code
    first = re.findall(r"`(.*?)`", fault.sentence) or [
        "fovnet " + fault.sentence.partition("make them: fovnet ")[2]
    ]
    for command in first:
        assert CliRunner().invoke(app, shlex.split(command)[1:]).exit_code == 0, command
    assert (
        "--without" in first[0]
        and CliRunner().invoke(app, ["slice", "--config", str(config)]).exit_code == 0
    )
