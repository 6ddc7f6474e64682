"""What axes mean to a network: two names for one thing, one order for all files, nothing impossible let
in."""

import numpy as np
import pytest

from fovnet.errors import SearchError
from fovnet.net.cost.columns import columns_of_configurations
from fovnet.net.cost.predicted import DeviceSpeed, Work, price_rows
from fovnet.net.family import axes
from fovnet.search.space import BASELINE_CONFIGURATION, PAPER_LEVELS, Axis, paper_space


def priced(configuration, head="fc"):
    """Bytes and seconds of a training."""
    rows = columns_of_configurations([configuration], classes=7, head=head)
    return price_rows(rows, Work(100, 10, 1), DeviceSpeed(50.0, 10.0, 100.0))[1:]


def paper_axes(**changes):
    return [Axis.of(name, levels) for name, levels in {**PAPER_LEVELS, **changes}.items()]


def test_the_papers_axes_are_in_order_already_and_any_other_order_becomes_it():
    assert axes.order_axes(paper_axes()) == paper_space().axes
    assert axes.order_axes(paper_axes()[::-1]) == paper_space().axes


def test_the_step_and_the_batch_have_two_names_each():
    plain = {**BASELINE_CONFIGURATION, "learning_rate": 0.001, "batch": 8}
    del plain["log10_learning_rate"], plain["log2_batch"]
    assert (
        axes.learning_rate(plain) == pytest.approx(axes.learning_rate(BASELINE_CONFIGURATION))
        and axes.batch_size(plain) == axes.batch_size(BASELINE_CONFIGURATION) == 8
    )
    np.testing.assert_array_equal(priced(plain), priced(BASELINE_CONFIGURATION))


def test_a_head_of_the_configurations_own_is_priced_as_such():
    np.testing.assert_array_equal(
        priced({**BASELINE_CONFIGURATION, "head": "gap"}), priced(BASELINE_CONFIGURATION, "gap")
    )


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"colour": ["red"]}, "space-axes"),
        ({"batch": [8, 16]}, "space-axes"),
        ({"kernel": [3, 4]}, "space-level"),
        ({"kernel": ["large"]}, "space-level"),
        ({"blocks": [8]}, "space-level"),
        ({"separable": [0, 1]}, "space-level"),
        ({"head": ["fc", "mlp"]}, "space-level"),
        ({"block": ["dense"]}, "space-level"),
        ({"widen": [3]}, "space-level"),
        ({"stride": [3]}, "space-level"),
        ({"norm": ["batch"]}, "space-level"),
        ({"stride": [1, 2], "blocks": [1, 7]}, "space-level"),
        ({"norm": ["none", "pooled"], "stride": [2], "blocks": [1, 6]}, "space-level"),
        ({"log2_batch": [True]}, "space-level"),
        ({"log10_learning_rate": [-2, 400]}, "space-level"),
        ({"log10_learning_rate": [-400]}, "space-level"),
        ({"log10_learning_rate": [float("nan")]}, "space-levels"),
    ],
)
def test_what_no_network_can_have_is_refused(change, code):
    with pytest.raises(SearchError, match=code):
        axes.order_axes(paper_axes(**change))


def test_a_missing_axis_is_named():
    with pytest.raises(SearchError, match="log10_learning_rate or learning_rate"):
        axes.order_axes([axis for axis in paper_axes() if axis.name != "log10_learning_rate"])
