"""What is refused before anything is trained."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fovnet.errors import ConfigError, SearchError
from fovnet.net.device import choose_device
from fovnet.net.jobs.training_data import LabelledSlices, refuse_without_slices

ROWS, NOBODY = np.arange(4), np.arange(0)


@pytest.mark.parametrize(
    ("train", "validation", "lacking"), [(NOBODY, ROWS, "training"), (ROWS, NOBODY, "validation")]
)
def test_a_split_without_slices_is_named(
    train: np.ndarray, validation: np.ndarray, lacking: str
) -> None:
    targets = np.eye(4, dtype=np.float32)
    with pytest.raises(SearchError, match=f"the {lacking} split has no slices") as refusal:
        refuse_without_slices(LabelledSlices(targets, train, validation))
    assert refusal.value.code == "search-no-slices"
    refuse_without_slices(LabelledSlices(targets, ROWS[:3], ROWS[3:]))


def test_a_gpu_beyond_the_last_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert [str(choose_device(name)) for name in ("cuda", "cuda:1")] == ["cuda", "cuda:1"]
    with pytest.raises(ConfigError, match=r"cuda:0 to cuda:1.*device-missing"):
        choose_device("cuda:2")
