"""What the Snakefile asks of a configuration."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from fovnet.config.files import parse, write_settings
from fovnet.config.models import Settings
from fovnet.errors import ConfigError
from fovnet.results import SHIPPED_NETWORKS
from fovnet.workflow import (
    calibration_files,
    fingerprint,
    gpus,
    lesson_files,
    prior_files,
    sections,
    sentence_on_changes,
    shell_prefix,
    warm_start_files,
)

SPEED = {"gflop_per_second": 20.0, "gigabyte_per_second": 6.0, "microseconds_per_layer": 20.0}


def settings(**raw: object) -> Settings:
    return parse({"phantom": {"subjects": 8}, **raw}, "mine.yaml")


def regions(path: Path, *, upper: str = "hips", colour: str = "#aa3377") -> Settings:
    """Settings with a file of two regions of which the upper is called so and has this colour."""
    path.write_text(
        f"regions:\n  - {{name: legs, rung: 0}}\n  - {{name: {upper}, rung: 1, colour: '{colour}'}}\n",
        encoding="utf-8",
    )
    return settings(phantom={"subjects": 0}, collections={"mine": "mine"}, regions=str(path))


class TestFingerprint:
    """A rule is repeated where one of its own sections changes, and nowhere else."""

    def test_other_sections_do_not_matter(self) -> None:
        mine, theirs = (sections(settings(report={"title": title})) for title in ("one", "two"))
        assert fingerprint(mine, "search", "training", "seed") == fingerprint(
            theirs, "search", "training", "seed"
        )
        assert fingerprint(mine, "report") != fingerprint(theirs, "report")

    def test_a_default_that_is_written_out_is_the_default(self) -> None:
        assert fingerprint(sections(settings(seed=settings().seed)), "seed") == fingerprint(
            sections(settings()), "seed"
        )

    def test_nor_does_the_order_of_the_sections(self) -> None:
        whole = sections(settings())
        assert fingerprint(whole, "search", "seed") == fingerprint(whole, "seed", "search")

    def test_a_file_of_regions_counts_by_what_it_tells(self, tmp_path: Path) -> None:
        """Under another name it cuts no slices again, nor with another colour, which only what is shown
        depends on."""
        one, same = (sections(regions(tmp_path / name)) for name in ("one.yaml", "two.yaml"))
        red, other = (
            sections(regions(tmp_path / "one.yaml", colour="#ff0000")),
            sections(regions(tmp_path / "one.yaml", upper="knees")),
        )
        assert fingerprint(one, "regions", "vocabulary") == fingerprint(
            same, "regions", "vocabulary"
        )
        assert fingerprint(one, "regions") == fingerprint(red, "regions")
        assert fingerprint(one, "vocabulary") != fingerprint(red, "vocabulary")
        assert fingerprint(one, "regions") != fingerprint(other, "regions")

    def test_people_are_simulated_again_for_parts_of_regions_and_not_for_other_names(
        self, tmp_path: Path
    ) -> None:
        five, nine = (
            sections(settings(regions=name, phantom={"subjects": 8}))
            for name in ("default", "nine")
        )
        own = sections(regions(tmp_path / "own.yaml"))
        assert fingerprint(five, "phantom") != fingerprint(nine, "phantom")
        assert "chain" not in five["phantom"] and "chain" not in own["phantom"]


RULES = Path(__file__).parents[1] / "workflow" / "rules"
USED = {
    "phantom": {"phantom", "seed"},
    "slice": {"prepare", "collections", "regions", "identifiers", "seed"},
    "learn": {"search", "training"},
    "search": {"search", "training", "seed"},
    "begin": {"search", "training", "seed"},
    "gather": {"search", "training", "seed"},
    "ensemble": {"ensemble", "training", "prepare", "vocabulary", "seed"},
    "tune": {"decision", "vocabulary", "seed"},
    "decide": {"decision", "vocabulary", "seed"},
    "evaluate": {"evaluate", "decision", "vocabulary", "seed"},
    "ablate": {"evaluate", "decision", "training", "search", "vocabulary", "seed"},
    "report": {*Settings.model_fields, "vocabulary"},
    "adapt": {"training", "ensemble", "prepare", "decision", "evaluate", "vocabulary", "seed"},
}
"""Sections of the settings that the verb of each rule uses, beside what its input files hold."""
WITHOUT = {
    "calibrate": "an existing calibration is kept, whatever the settings",
    "propose": "its journal is named by the settings, but for the stopping rule",
    "train": "its journal is named by the settings",
}


def declared() -> dict[str, tuple[str, ...]]:
    """The sections that each rule names in its fingerprint."""
    names = {}
    for path in RULES.glob("*.smk"):
        if path.stem == "shards":  # of another kind of settings
            continue
        for rule, body in re.findall(
            r"^(?:rule|checkpoint) (\w+):\n(.*?)(?=^\S|\Z)",
            path.read_text(),
            re.DOTALL | re.MULTILINE,
        ):
            fingerprints = re.findall(r"settings=fingerprint_of\((.*?)\),\n", body)
            assert len(fingerprints) == (rule not in WITHOUT), rule
            for given in fingerprints:
                every = given == "*SECTIONS"
                names[rule] = tuple(
                    sections(settings()) if every else re.findall(r'"(\w+)"', given)
                )
    return names


def test_every_rule_names_all_sections_that_its_verb_uses_and_no_other() -> None:
    assert {rule: set(names) for rule, names in declared().items()} == USED


def leaves(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The keys that lead to every single setting."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    else:
        yield path


def with_another(whole: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """The same settings but for one."""
    other = deepcopy(whole)
    section = other
    for key in path[:-1]:
        section = section[key]
    section[path[-1]] = "another"
    return other


@pytest.mark.parametrize("rule", sorted(USED))
def test_another_value_of_any_setting_that_a_rule_uses_is_another_fingerprint(rule: str) -> None:
    """A digest is in no other value of `params`, so that their set differs too."""
    whole, names = sections(settings()), declared()[rule]
    fingerprints = {
        fingerprint(with_another(whole, path), *names)
        for name in USED[rule]
        for path in leaves(whole[name], (name,))
        if not isinstance(whole[name], list)
    }
    count = sum(
        len([*leaves(whole[name])]) for name in USED[rule] if not isinstance(whole[name], list)
    )
    assert len(fingerprints) == count and fingerprint(whole, *names) not in fingerprints


@pytest.mark.parametrize(
    "interpreter",
    ["/usr/bin/python3", "/a b/bin/python", "/it's/python", "/{x}/python", "/$HOME/`a`/py"],
)
def test_rules_call_the_interpreter_that_runs_the_workflow(
    interpreter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", interpreter)
    printing = "fovnet() { printf '%s,' \"$@\"; }"
    command = f"{shell_prefix().format()}declare -f fovnet; {printing}; fovnet 'a b' c"
    told = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=True
    ).stdout
    words = shlex.split(told[told.index("{") + 1 : told.rindex("}")])
    assert words[:4] == [interpreter, "-P", "-m", "fovnet"] and told.endswith("a b,c,")


def test_a_training_on_the_processor_asks_for_no_gpu() -> None:
    assert [gpus(settings(training={"device": device})) for device in ("cpu", "auto", "cuda")] == [
        0,
        1,
        1,
    ]


def test_the_search_waits_for_a_calibration_where_it_goes_by_one() -> None:
    assert calibration_files(settings(results="mine", search={"speed": "measure"})) == [
        "mine/calibration.json"
    ]
    assert calibration_files(settings(search={"speed": SPEED})) == []


def test_the_networks_begun_with_are_watched_where_there_are_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def begun(begin: str | None) -> list[str]:
        return warm_start_files(
            settings().model_copy(
                update={"training": settings().training.model_copy(update={"begin": begin})}
            )
        )

    (tmp_path / "ensemble.json").touch()
    assert begun("shipped") == [f"{SHIPPED_NETWORKS}/ensemble.json"]
    assert begun(str(tmp_path)) == [f"{tmp_path}/ensemble.json"]
    assert begun(str(tmp_path / "gone")) == []
    (tmp_path / "None").mkdir()
    (tmp_path / "None" / "ensemble.json").touch()
    monkeypatch.chdir(tmp_path)
    assert begun(None) == []


def test_a_search_waits_for_what_earlier_ones_teach_and_a_missing_file_of_it_is_refused(
    tmp_path: Path,
) -> None:
    def taught(**search: object) -> Settings:
        return settings(results="mine", search={"method": "ranking", **search})

    assert prior_files(taught()) == [] == lesson_files(taught())
    file, folder, journal = tmp_path / "p.safetensors", tmp_path / "first", tmp_path / "journal"
    with pytest.raises(
        ConfigError,
        match=rf"search.prior: .*`fovnet search learn JOURNAL.*--out {file}` makes it.*prior-missing",
    ):
        prior_files(taught(prior=str(file)))
    file.touch()
    assert prior_files(taught(prior=str(file))) == [str(file)]
    with pytest.raises(
        ConfigError,
        match=rf"learn_from: {folder} has neither search.json nor .*whose search is done.*learn-sources",
    ):
        lesson_files(taught(learn_from=[str(folder)]))
    for head in (folder / "search" / "current.json", journal / "search.json"):
        head.parent.mkdir(parents=True)
        head.touch()
    both = taught(learn_from=[str(folder), str(journal)])
    assert prior_files(both) == ["mine/prior.safetensors"]
    assert lesson_files(both) == [
        str(folder / "search" / "current.json"),
        str(journal / "search.json"),
    ]


class TestUnnoticedChanges:
    """Snakemake goes by what it has recorded under a file's name: beside another record, or none, it takes
    what is there for current."""

    def test_settings_that_snakemake_compares_itself_are_left_to_it(self, tmp_path: Path) -> None:
        file = write_settings(tmp_path / "config.yaml", settings(results=str(tmp_path)))
        assert (
            sentence_on_changes(file, settings(results=str(tmp_path), seed=2), recorded=True)
            is None
        )

    @pytest.mark.parametrize(
        ("results", "recorded"), [("here", False), ("elsewhere", True), ("elsewhere", False)]
    )
    def test_others_are_named_with_what_to_do(
        self, tmp_path: Path, results: str, recorded: bool
    ) -> None:
        file = write_settings(tmp_path / "config.yaml", settings(results="here"))
        message = sentence_on_changes(
            file, settings(results=results, seed=2, report={"title": "two"}), recorded=recorded
        )
        assert message is not None
        assert message.startswith(f"{results}: was made elsewhere or under another name")
        assert "have changed: seed, report." in message
        assert f"remove {file}" in message and "--forcerun" in message

    @pytest.mark.parametrize("recorded", [False, True])
    def test_the_same_settings_under_another_name_go_on(
        self, tmp_path: Path, recorded: bool
    ) -> None:
        file = write_settings(tmp_path / "config.yaml", settings(results="there"))
        assert sentence_on_changes(file, settings(results="here"), recorded=recorded) is None

    @pytest.mark.parametrize("text", [None, "", "[1, 2]", "{seed: 1}", "{", "seed: \udcff"])
    def test_where_nothing_readable_was_left_there_is_nothing_to_compare(
        self, tmp_path: Path, text: str | None
    ) -> None:
        if text is not None:
            (tmp_path / "config.yaml").write_bytes(text.encode("utf-8", "surrogateescape"))
        assert (
            sentence_on_changes(tmp_path / "config.yaml", settings(seed=2), recorded=False) is None
        )


def test_a_run_goes_on_behind_refused_volumes_and_where_nothing_may_be_refused_it_stops() -> None:
    """Status 3 of a verb is no failure of its rule, if and only if the rule says so."""
    rules = [
        block
        for path in sorted((Path(__file__).parents[1] / "workflow" / "rules").glob("*.smk"))
        for block in path.read_text(encoding="utf-8").split("\nrule ")[1:]
    ]
    passing = {block.split(":")[0] for block in rules if "test $? = 3" in block}
    assert (
        passing
        == {
            block.split(":")[0]
            for block in rules
            if "Status 3 means that some were refused" in block
        }
        >= {"slice", "decide"}
    )
