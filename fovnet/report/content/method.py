"""A summary of the method, from the configuration and the decision rule of this run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

SEEN = {
    "neighbours": "its neighbours", "millimetres": "the same at a fixed number of millimetres a pixel",
    "sections": "the volume’s sagittal and coronal section",
}
"""What a network is given besides the slice, by its name in `training.inputs`."""
SEARCHED = {
    "grid": "the best of a grid over their shape and their training",
    "random": "the best of many whose shape and training were drawn at random",
    "tpe": "the best found by tree-structured Parzen estimators over their shape and their training",
}
"""How the networks were found, by `search.method`; the others are BAYESIAN."""
BAYESIAN = "the best found by Gaussian-process Bayesian optimisation over their shape and their training"


def method_words(configuration: Mapping[str, Any], decision: Mapping[str, Any]) -> str:
    """One paragraph: the slices, the networks and their inputs, and the steps from probabilities to spans.

    configuration  of the run; missing keys have fovnet's defaults
    decision       the rule's settings, `heights` in words ("not used" where there are none)
    """
    smoothed = ", and smoothed along the body in millimetres" if decision.get("sigma_mm", 1.0) else ""
    return (
        f"Every volume is cut into axial slices along the scanner’s feet-head axis. Convolutional networks, {_origin(configuration)}, give "
        f"each slice a probability for each region{_beside(configuration)}; their mean is calibrated on the validation split{smoothed}. "
        f"{_decoding(decision)}, and abstains where the evidence is weak."
    )


def predictors(configuration: Mapping[str, Any], decision: Mapping[str, Any]) -> str:
    """The predictors of an answer, in words."""
    sections = " and of the volume’s sagittal and coronal section" if "sections" in _inputs(configuration) else ""
    heights = " and how high regions usually lie" if _knows_heights(decision) else " and nothing else"
    return f"the pixels of axial slices{sections}{',' if sections else ''}{heights}"


def _origin(configuration: Mapping[str, Any]) -> str:
    if configuration.get("training", {}).get("begin"):
        return "trained further from those of another ensemble"
    return SEARCHED.get(configuration.get("search", {}).get("method"), BAYESIAN)


def _inputs(configuration: Mapping[str, Any]) -> Sequence[str]:
    return list(configuration.get("training", {}).get("inputs") or ["slice"])


def _beside(configuration: Mapping[str, Any]) -> str:
    shown = [SEEN[name] for name in _inputs(configuration) if name in SEEN]
    if not shown:
        return ""
    return f", from it, {', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else f", from it and {shown[0]}"


def _knows_heights(decision: Mapping[str, Any]) -> bool:
    return decision.get("heights") not in (None, "", (), "not used")


def _decoding(decision: Mapping[str, Any]) -> str:
    if decision.get("method") == "intersections":
        return "The decision then puts a border only where the curves of two adjacent regions cross, as the thesis does"
    usual = ", about as high as they usually lie" if _knows_heights(decision) else ""
    return (
        "The decision then takes the most probable sequence in which regions are contiguous, in anatomical order, each at most once" + usual
    )
