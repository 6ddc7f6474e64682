"""What can be left out, by name."""

from __future__ import annotations

import pytest

from fovnet.errors import ConfigError
from fovnet.phantom.features import parse_features_left_out


def test_a_feature_that_is_none_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"did you mean 'artefacts'.*phantom-feature"):
        parse_features_left_out(["artifacts"])
