"""The verbs of `fovnet` by name, each with its module and the first paragraph of its help.

`fovnet --help` is written from this table alone.  The module of a verb, and all that it imports, is
read when the verb is called or its own help is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

# fmt: off
VERBS = {
    "check": ("checking",
        "Check a configuration: whether it is valid, what it will do, and what its collections lack; "
        "status 3 if\nthey lack something."),
    "cost": ("pricing",
        "Predict the cost of every configuration of the space before any is trained: weights, "
        "operations,\nmemory, seconds."),
    "calibrate": ("calibrating",
        "Measure the device for the cost model, in about a minute: calibration.json in the results "
        "folder; an\nexisting one is kept."),
    "phantom": ("preparing",
        "Simulate a labelled collection of MRI volumes of whole bodies and body parts, or of your own\n"
        "segmentation."),
    "slice": ("preparing",
        "Cut all volumes of the configured collections into slices, and split the subjects."),
    "train": ("training",
        "Train one configuration; status 3 if it does not complete. If killed, the same command "
        "resumes."),
    "propose": ("slots",
        "Compute what a search proposes for a slot; for a finished slot this gives its recorded "
        "proposal\nagain."),
    "ensemble": ("deciding",
        "Make an ensemble of the best trials, and predict the validation and test slices once."),
    "tune": ("deciding",
        "Choose the temperature, smoothing and thresholds of the decision, and when to abstain, on "
        "the\nvalidation split."),
    "decide": ("deciding",
        "Decide on the volumes of the test split: spans.tsv and one JSON per volume."),
    "evaluate": ("evaluating",
        "Compare the decisions on the test split with the truth."),
    "ablate": ("evaluating",
        "Measure what each step contributes, on the test split: the decision, the mean of the members, "
        "the\nsearch."),
    "examine": ("examining",
        "Compare the answers of `predict` with a labelled collection; status 3 if labelled volumes have "
        "no\nanswer."),
    "compare": ("evaluating",
        "Compare two runs on the same volumes: second minus first, with intervals from resampling the "
        "subjects\nof both together."),
    "report": ("evaluating",
        "Write the report: one self-contained page."),
    "predict": ("predicting",
        "Predict which regions new volumes show; one broken file never stops the rest, and a killed run "
        "resumes\nwith the same command."),
    "bids": ("bids",
        "Answer a BIDS data set as a BIDS App: a derivative with the regions that each volume shows."),
    "mercure": ("mercure",
        "Answer as a module of the DICOM orchestrator mercure: images of MERCURE_IN_DIR; result.json and "
        "structured\nreports in MERCURE_OUT_DIR."),
    "codes": ("predicting",
        "List all values of `code` in spans.tsv, as a tab-separated table: code, status, meaning, what "
        "to try,\nand which answers on regions become unsure."),
    "adapt": ("adapting",
        "Fit networks to your labelled volumes, together with simulated ones, and say what that gained "
        "on\nsubjects left out in turn."),
    "label": ("labelling",
        "Label volumes in the browser, on this machine alone, beginning with what the networks predict."),
    "agreement": ("labelling",
        "Say how far the readers of a labelling agree, region by region and border by border, and on "
        "which\nvolumes they differ."),
    "node": ("node",
        "A DICOM node: MR series that arrive by C-STORE are answered as `predict` does, and the "
        "structured\nreports are sent on."),
    "archive": ("archive",
        "Ask an archive (DICOMweb, or the DICOM network) what it holds, and answer its series."),
    "collect": ("collecting",
        "Write the tables of a collection from a data set as published."),
    "bench": ("bench",
        "Benchmarks: searches, trainings, predictions, and how reliable answers are."),
    "search": ("searching",
        "Search the network space: propose, train, learn, propose; resumes after a kill."),
    "slot": ("slots",
        "Search slot by slot, one command each, as on a cluster; the trials are the same as those of "
        "`search`."),
    "shard": ("sharding",
        "Predict an archive shard by shard, anywhere and in any order; workflow/predict.smk gives these "
        "commands.  Tables and index are those of `fovnet predict`."),
    "export": ("exporting",
        "Export the answers of `predict` (DICOM SR, BIDS, relabelled copies, a table of headers) or the "
        "networks."),
}
# fmt: on
"""{verb: (module of fovnet.cli, first paragraph of its help)}, in the order of `fovnet --help`.

A line break is one of the verb's docstring: the terminal shows it."""


class Verb(TyperCommand):
    """A verb, or a group of verbs, of which only its name and the first paragraph of its help are
    known until it is called.

    module_stem  the module of fovnet.cli whose `verbs` has the command itself
    """

    def __init__(self, name: str, module_stem: str, first_paragraph: str) -> None:
        super().__init__(name, help=first_paragraph)
        self.module = f"fovnet.cli.{module_stem}"

    def load(self) -> Any:
        """The command itself, with its options; imports the module."""
        return get_group(import_module(self.module).verbs).commands[str(self.name)]

    def make_context(self, *args: Any, **options: Any) -> Any:
        """The context of the command itself, which then runs in this one's place."""
        return self.load().make_context(*args, **options)


class VerbGroup(TyperGroup):
    """A group whose verbs are imported one by one, each when it is called.

    VERBS  {verb: (module of fovnet.cli, first paragraph of its help)}, in the order of `--help`
    """

    VERBS: Mapping[str, tuple[str, str]] = {}

    def __init__(self, **attributes: Any) -> None:
        command_by_name = {
            name: Verb(name, module_stem, first_paragraph)
            for name, (module_stem, first_paragraph) in self.VERBS.items()
        }
        super().__init__(**{**attributes, "commands": command_by_name | attributes["commands"]})


class CommandLine(VerbGroup):
    """`fovnet`: the group of all verbs in VERBS, and of those that a script adds to it."""

    VERBS = VERBS
