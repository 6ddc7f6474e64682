"""Numbers in configurations: read as people write them, refused where YAML 1.1 reads others, and whoever gave
a wrong one is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hypothesis
import pytest
import yaml
from hypothesis.strategies import integers, sampled_from
from snakemake.cli import parse_config
from snakemake.utils import update_config

from fovnet.config.files import load_settings, parse, parse_merged
from fovnet.config.models import Settings
from fovnet.config.prediction import Prediction
from fovnet.config.yaml_text import find_misread_numbers, read_value
from fovnet.errors import ConfigError

WHOLE = (
    ("training", "slices_per_epoch"),
    ("training", "epochs"),
    ("search", "trials"),
    ("search", "workers"),
    ("search", "initial"),
    ("ensemble", "members"),
    ("evaluate", "bootstrap"),
    ("phantom", "volumes_per_subject"),
)
REAL = (
    ("training", "rate_factor"),
    ("search", "memory_limit_gb"),
    ("search", "lead"),
    ("prepare", "target_spacing_mm"),
    ("decision", "stated_error"),
)


def settings_of(tmp_path: Path, text: str) -> Settings:
    path = tmp_path / "mine.yaml"
    path.write_text(f"phantom: {{subjects: 8}}\n{text}\n", encoding="utf-8")
    return load_settings(path)


def refusal(tmp_path: Path, text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        settings_of(tmp_path, text)
    return caught.value.sentence


def test_a_whole_number_may_have_an_exponent(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, "training: {slices_per_epoch: 1e2, epochs: 3.0e1}")
    assert (
        settings.training.slices_per_epoch == 100
        and type(settings.training.slices_per_epoch) is int
    )
    assert settings.training.epochs == 30
    assert settings == settings_of(tmp_path, "training: {slices_per_epoch: 100, epochs: 30}")


@hypothesis.given(digits=integers(1, 999), exponent=integers(0, 6), keys=sampled_from(WHOLE))
def test_digits_with_an_exponent_are_the_number_that_they_are(
    digits: int, exponent: int, keys: tuple[str, str]
) -> None:
    section, key = keys
    if section == "phantom" or (key == "bootstrap" and digits * 10**exponent < 100):
        return
    raw = {
        "phantom": {"subjects": 8},
        "ensemble": {"alone": 0},
        section: {key: f"{digits}e{exponent}"},
    }
    assert getattr(getattr(parse(raw, "mine.yaml"), section), key) == digits * 10**exponent


@pytest.mark.parametrize(
    "written",
    ["1.5", "1e-2", "1.25e1", "15e-1", "'12.5'", "1e2x", "e2", "1e", ".", "1 e2", "--3", "[3]"],
)
def test_what_is_no_whole_number_is_refused_as_it_was_written(tmp_path: Path, written: str) -> None:
    told = refusal(tmp_path, f"training: {{slices_per_epoch: {written}}}")
    value = yaml.safe_load(written)
    assert (
        f"training.slices_per_epoch: {value!r}" in told
        or f"training.slices_per_epoch: {value}" in told
    )


@pytest.mark.parametrize("keys", [*WHOLE, *REAL, ("", "seed")])
@pytest.mark.parametrize("word", ["true", "yes", "off"])
def test_a_switch_is_no_number(tmp_path: Path, keys: tuple[str, str], word: str) -> None:
    section, key = keys
    value = yaml.safe_load(word)
    raw = {section: {key: value}} if section else {key: value}
    with pytest.raises(ConfigError) as caught:
        parse({"phantom": {"subjects": 8} | raw.pop("phantom", {}), **raw}, "mine.yaml")
    assert (
        f"{key}: {str(value).lower()} is no number; write {int(value)} if" in caught.value.sentence
    )


@pytest.mark.parametrize(
    "text",
    [
        "decision: {sigma_mm: [0, true]}",
        "prepare: {split: [true, 0.0, 0.0]}",
        "search: {ranking: {hidden: [true]}, method: ranking}",
        "search: {speed: {filters_at_once: true}}",
        "training: {early_stopping: {plateau: {patience: true}}}",
        "training: {early_stopping: {envelope: {milestones: [true]}}}",
        "search: {space: {rate: {log: {low: 0.1, high: 1, levels: true}}}}",
    ],
)
def test_nor_is_it_in_a_list_or_deeper(tmp_path: Path, text: str) -> None:
    assert "true is no number" in refusal(tmp_path, text)


def test_a_switch_is_a_level(tmp_path: Path) -> None:
    space = settings_of(
        tmp_path, "search: {space: {separable: [false, true], blocks: [4, 5]}}"
    ).search.space
    assert space == {"separable": [False, True], "blocks": [4, 5]}


MISREAD = [
    ("1:36", "96"),
    ("-1:36", "-96"),
    ("1:00:00", "3600"),
    ("190:20:30", "685230"),
    ("1:36.5", "96.5"),
    ("2:0", "120"),
    ("010", "8"),
    ("-017", "-15"),
    ("0100", "64"),
    ("0_10", "8"),
    ("0b101", "5"),
    ("+0b1", "1"),
    ("2026-11-29", "a date"),
    ("2026-11-29 10:00:00", "a date"),
]


@pytest.mark.parametrize(("written", "meaning"), MISREAD)
@pytest.mark.parametrize(
    "where", ["training: {epochs: %s}", "seed: %s", "decision: {sigma_mm: [0, %s]}"]
)
def test_a_number_that_yaml_reads_as_another_is_refused_by_line_key_and_text(
    tmp_path: Path, written: str, meaning: str, where: str
) -> None:
    told = refusal(tmp_path, where % written)
    key = where.split(":")[0].strip()
    assert f"line 2: {key}" in told and f"{written} is {meaning} in YAML; " in told
    if meaning == "a date":
        assert "put it in quotes" in told
    else:
        # quotes would be refused too, where a number is wanted
        assert f"write {meaning}" in told and "quotes" not in told


@pytest.mark.parametrize(
    "written",
    [
        "0",
        "7",
        "07",
        "12",
        "-3",
        "+4",
        "1.5",
        "0.5",
        "00",
        "1_000",
        "1_000.5",
        "0x1F",
        ".inf",
        "-.inf",
        ".nan",
        "1.0e3",
        "6.8523015e+5",
        "1e2",
        "'1:36'",
        '"010"',
        "'2026-11-29'",
        "text",
        "~",
        "true",
        "08",
        "1.2.3",
    ],
)
def test_what_everybody_reads_alike_or_is_in_quotes_is_not(written: str) -> None:
    assert find_misread_numbers(f"a: [{written}]\n{written}: 1\n") == []


@hypothesis.given(integers(-(10**9), 10**9))
def test_no_number_that_python_writes_is_misread(number: int) -> None:
    assert find_misread_numbers(f"a: {number}\nb: {number / 1000!r}\n") == []


@pytest.mark.parametrize(("written", "meaning"), MISREAD)
def test_nor_are_such_values_read_from_the_command_line(written: str, meaning: str) -> None:
    with pytest.raises(ValueError, match=f"is {meaning} in YAML"):
        read_value(written)


def merged(tmp_path: Path, text: str, *words: str) -> Settings:
    """As Snakemake merges a file and what its option --config was given."""
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    whole: dict[str, Any] = yaml.safe_load(text)
    overrides = parse_config(words)
    update_config(whole, overrides)
    return parse_merged(Settings, whole, [path], overrides)


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("training={slices_per_epoch: 96}", ("training", "slices_per_epoch", 96)),
        ("training={slices_per_epoch: 1e2}", ("training", "slices_per_epoch", 100)),
        ("training={rate_factor: 1e-1}", ("training", "rate_factor", 0.1)),
        ("search={lead: 0.5}", ("search", "lead", 0.5)),
        ("search={jobs: true}", ("search", "jobs", True)),
        ("search={candidates: 24}", ("search", "candidates", 24)),
        ("search={space: {blocks: [4, 5]}}", ("search", "space", {"blocks": [4, 5]})),
        ("search={space: {rate: [1e-4, 0.01]}}", ("search", "space", {"rate": [1e-4, 0.01]})),
        (
            "search={space: {separable: [false, true]}}",
            ("search", "space", {"separable": [False, True]}),
        ),
        ("decision={sigma_mm: [0, 6]}", ("decision", "sigma_mm", [0.0, 6.0])),
        ("prepare={split: [0.5, 0.3, 0.2]}", ("prepare", "split", (0.5, 0.3, 0.2))),
        ("report={title: 2024}", ("report", "title", "2024")),
    ],
)
def test_words_of_the_option_config_are_read_as_what_they_look_like(
    tmp_path: Path, word: str, value: tuple[str, str, Any]
) -> None:
    section, key, wanted = value
    number = getattr(getattr(merged(tmp_path, "phantom: {subjects: 8}\n", word), section), key)
    assert number == wanted and repr(number) == repr(wanted)


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("training={epochs: 1.5}", "training.epochs: '1.5'"),
        ("training={epochs: 1:36}", "training.epochs: '1:36'"),
        ("seed=1:36", "seed: '1:36'"),
        ("seed=yes", "seed: 'yes'"),
        ("seed=True", "seed: true is no number"),
        ("seed=-1", "seed: -1"),
        ("serch=3", "serch: unknown key"),
        ("evaluate=3", "evaluate: 3"),
        ("search={trails: 3}", "search.trails: unknown key"),
        ("search={space: {blocks: []}}", "search.space: blocks"),
        ("decision={sigma_mm: [0, x]}", "decision.sigma_mm.1: 'x'"),
        ("results=", "results: None"),
    ],
)
def test_whoever_gave_a_wrong_value_is_blamed(tmp_path: Path, word: str, told: str) -> None:
    text = "phantom: {subjects: 8}\nensemble: {members: -1}\nsearch: {workers: 2}\n"
    with pytest.raises(ConfigError) as caught:
        merged(tmp_path, text, word)
    blocks: dict[str, list[str]] = {}
    for line in caught.value.sentence.splitlines():
        if not line.startswith("  "):
            block = blocks.setdefault(line.removesuffix(": not a valid configuration:"), [])
        else:
            block.append(line.strip())
    assert list(blocks) == [str(tmp_path / "mine.yaml"), "--config"] or list(blocks) == [
        "--config",
        str(tmp_path / "mine.yaml"),
    ]
    assert all(
        line.startswith("ensemble.members: -1") for line in blocks[str(tmp_path / "mine.yaml")]
    )
    assert blocks["--config"] and all(line.startswith(told) for line in blocks["--config"])


def test_what_file_and_option_give_together_is_both_of_theirs(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        merged(tmp_path, "phantom: {subjects: 8}\nsearch: {eta: 1}\n", "search={spend: asha}")
    assert f"{tmp_path / 'mine.yaml'} and --config: not a valid" in caught.value.sentence


def test_a_file_that_snakemake_has_read_already_is_read_for_what_it_does_not_tell(
    tmp_path: Path,
) -> None:
    for text, code in (("seed: 1\nseed: 2\n", "config-doubled"), ("seed: 010\n", "config-misread")):
        with pytest.raises(ConfigError) as caught:
            merged(tmp_path, f"phantom: {{subjects: 8}}\n{text}")
        assert caught.value.code == code
    path = tmp_path / "mine.json"
    path.write_text('{\n\t"paths": ["a"],\n\t"answers": "b"\n}\n', encoding="utf-8")
    parse_merged(Prediction, {"paths": ["a"], "answers": "b"}, [path], {})
