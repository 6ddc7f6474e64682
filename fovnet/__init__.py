"""fovnet: which part of the body does an MRI volume show, from which millimetre to which, and how
sure is that.

    import fovnet
    model = fovnet.load()                       # the networks that come with the package, or
                                                fovnet.load("results/demo/ensemble")
    answer = model.predict("scan.nii.gz")       # a path, a nibabel image, or an array with affine=
    answer.status, answer.regions, answer.spans, answer.confidence, answer.message, answer.to_dict()
    run = fovnet.open("mine.yaml")              # run.prepare(), .search(), .ensemble(), .tune(),
                                                .decide(), .evaluate(), .report()
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fovnet._version import __version__
from fovnet.late import import_late

if TYPE_CHECKING:
    from os import PathLike

    from fovnet.acts import opening as _opening
    from fovnet.acts.opening import OpenRun
    from fovnet.decision import model as _model
    from fovnet.decision.model import Model
else:  # importing fovnet costs neither scipy nor nibabel
    _opening = import_late("fovnet.acts.opening")
    _model = import_late("fovnet.decision.model")

__all__ = ["__version__", "load", "open"]


def load(
    folder: str | PathLike[str] | None = None, device: str = "auto", engine: str = "auto"
) -> Model:
    """The model in an ensemble folder, or without one the model that comes with the package; its
    `predict` gives answers.

    device  auto, cpu or cuda
    engine  auto (the fastest that is installed), torch or onnx; the answers are the same
    Raises fovnet.errors.ModelError where the folder is no ensemble, or the package came without
    one, or the engine is not installed or needs a graph that the model lacks.
    """
    return _model.load_model(folder, device, engine)


def open(config: str | PathLike[str]) -> OpenRun:
    """The run of a configuration file: its prepare, search, ensemble, tune, decide, evaluate and
    report are the workflow's acts.

    Raises fovnet.errors.ConfigError for settings that cannot be.
    """
    return _opening.open_run(Path(config))
