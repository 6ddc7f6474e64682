"""What a run refuses before anything is begun."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from fovnet.acts.run import Run
from fovnet.config.models import Phantom, Settings
from fovnet.errors import ConfigError


def test_only_a_gpu_can_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    runs = {
        device: Run(
            Path("mine.yaml"), Settings(phantom=Phantom(subjects=8), training={"device": device})
        )
        for device in ("auto", "cpu", "cuda")
    }
    runs["auto"].refuse_without_device()
    runs["cpu"].refuse_without_device()
    with pytest.raises(ConfigError, match="device-missing"):
        runs["cuda"].refuse_without_device()
