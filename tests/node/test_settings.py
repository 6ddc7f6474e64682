"""A node's settings: the same by option, by file, and in the file that comes along."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from typer.main import get_group
from typer.testing import CliRunner

from fovnet.cli import app
from fovnet.cli import node as node_verb
from fovnet.config.files import parse_as
from fovnet.config.node import NodeOptions
from fovnet.errors import ConfigError

EXAMPLE = Path(__file__).parents[2] / "configs" / "node.yaml"
OPTIONS = {
    parameter.opts[0].removeprefix("--").replace("-", "_"): parameter
    for parameter in get_group(node_verb.verbs).commands["node"].params
}
NO_SETTINGS = {"config", "accept", "conformance"}
SETTINGS = sorted(OPTIONS.keys() - NO_SETTINGS)


def test_the_file_that_comes_along_says_every_option_with_its_default() -> None:
    given = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    assert sorted(given) == SETTINGS
    defaults = NodeOptions(out=Path(given["out"]))
    assert given == defaults.model_dump(mode="json", by_alias=True)


@pytest.mark.parametrize("word", [word for word in SETTINGS if OPTIONS[word].min is not None])
def test_a_key_admits_what_its_option_admits(word: str) -> None:
    def is_admitted(value: float) -> bool:
        try:
            parse_as(NodeOptions, {"out": "here", word: value}, "mine.yaml")
        except ConfigError:
            return False
        return True

    lowest, highest = OPTIONS[word].min, OPTIONS[word].max
    assert is_admitted(lowest) and not is_admitted(lowest - 1)
    assert highest is None or (is_admitted(highest) and not is_admitted(highest + 1))


def seen_by_node(monkeypatch, *words: str) -> NodeOptions:
    """The options of a node that is started with these words, and ended before it listens."""
    seen: list[NodeOptions] = []

    def stop(options: NodeOptions) -> None:
        seen.append(options)
        raise KeyboardInterrupt

    monkeypatch.setattr(node_verb, "settings_of", stop)
    CliRunner().invoke(app, ["node", *words])
    (options,) = seen
    return options


def test_options_win_over_the_file_and_the_file_over_the_defaults(tmp_path, monkeypatch) -> None:
    file = tmp_path / "node.yaml"
    content = {"out": str(tmp_path / "node"), "from": ["A@10.0.0.1", "*@10.1.0.0/16"], "rest": 5}
    file.write_text(yaml.safe_dump({**content, "keep": 1, "to": "B@10.0.0.2:104", "to_tls": True}))
    words = ["--config", str(file), "--rest", "7", "--no-to-tls"]
    options = seen_by_node(monkeypatch, *words)
    assert options.callers == content["from"] and str(options.out) == content["out"]
    assert (options.rest, options.keep, options.longest) == (7, 1, 900)
    assert options.to == "B@10.0.0.2:104" and not options.to_tls
    assert seen_by_node(monkeypatch, *words, "--from", "C@10.0.0.3").callers == ["C@10.0.0.3"]


@pytest.mark.parametrize(
    ("change", "code", "told"),
    [
        ({"callers": []}, "config-invalid", "callers: unknown key"),
        ({"rest": 0}, "config-invalid", "rest: 0"),
        ({"to": "archive:4242"}, "node-peer", "node.yaml: --to archive:4242"),
        ({"to_tls": True}, "node-tls", "node.yaml: --to-tls without --to"),
        ({"model": "nowhere"}, "model-missing", "nowhere"),
    ],
)
def test_check_refuses_what_a_node_would(tmp_path, change, code: str, told: str) -> None:
    file = tmp_path / "node.yaml"
    file.write_text(yaml.safe_dump({"out": str(tmp_path / "node"), **change}))
    fault = CliRunner().invoke(app, ["check", "--config", str(file)]).exception
    assert getattr(fault, "code", "") == code and told in str(fault)
    assert not (tmp_path / "node").exists()


def test_check_says_what_a_node_would_do(tmp_path) -> None:
    file = tmp_path / "node.yaml"
    file.write_text(f"out: {tmp_path / 'node'}\naet: BODY\nto: ARCHIVE@10.0.0.2:104\n")
    told = CliRunner().invoke(app, ["check", "--config", str(file)])
    assert told.exit_code == 0 and "valid.  BODY listens on port 11112" in told.output
    assert "ARCHIVE@10.0.0.2:104" in told.output
