"""What is refused before anything is trained."""

from __future__ import annotations

import numpy as np
import pytest

from fovnet.errors import SearchError
from fovnet.net.trials import Labelled, refuse_without_slices

ROWS, NOBODY = np.arange(4), np.arange(0)


@pytest.mark.parametrize(("train", "validation", "lacking"), [(NOBODY, ROWS, "training"), (ROWS, NOBODY, "validation")])
def test_a_split_without_slices_is_named(train: np.ndarray, validation: np.ndarray, lacking: str) -> None:
    targets = np.eye(4, dtype=np.float32)
    with pytest.raises(SearchError, match=f"the {lacking} split has no slices") as refusal:
        refuse_without_slices(Labelled(targets, train, validation))
    assert refusal.value.code == "search-no-slices"
    refuse_without_slices(Labelled(targets, ROWS[:3], ROWS[3:]))
