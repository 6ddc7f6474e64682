"""The device of a training, by the name in a configuration; torch is imported when it is asked
for."""

from __future__ import annotations

import ctypes
import platform
from pathlib import Path
from typing import TYPE_CHECKING

from fovnet.errors import ConfigError

if TYPE_CHECKING:
    import torch

CPU = "cpu"
AMD_DEVICE = Path("/dev/kfd")


def settle_device(name: str) -> str:
    """The device a configuration names, as text: "cpu", "cuda" or "cuda:1".  torch is imported only
    where a GPU is asked for or may be there.  Raises ConfigError as `choose_device`."""
    if name == CPU or (name == "auto" and not may_have_gpu()):
        return CPU
    return str(choose_device(name))


def may_have_gpu() -> bool:
    """Whether this machine has the driver of a GPU that torch can use: CUDA's library, or the device
    of AMD's.  Where it has, torch knows more."""
    if AMD_DEVICE.exists():
        return True
    try:
        ctypes.CDLL("nvcuda.dll" if platform.system() == "Windows" else "libcuda.so.1")
    except OSError:
        return False
    return True


def choose_device(name: str) -> torch.device:
    """The device a configuration names; "auto" is CUDA if available.  Raises ConfigError
    ("device-unknown", "device-missing")."""
    import torch

    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError(
            "device-unknown", f"device {name!r} is unknown; use auto, cpu or cuda"
        ) from None
    lacks_cuda = device.type == "cuda" and not torch.cuda.is_available()
    if device.type not in ("cpu", "cuda") or lacks_cuda:
        raise ConfigError(
            "device-missing",
            f"device {name!r} is not available; this torch {torch.__version__} can use auto or "
            "cpu; cuda needs a GPU and a build of torch for it",
        )
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ConfigError(
            "device-missing",
            f"device {name!r} does not exist; GPUs are numbered from cuda:0 "
            f"to cuda:{torch.cuda.device_count() - 1}",
        )
    return device


def device_name(device: torch.device) -> str:
    """The name of the device in the records of trials."""
    if device.type != "cuda":
        return f"{platform.machine()} CPU, one thread"

    import torch

    return torch.cuda.get_device_name(device)
