"""An ensemble as a MONAI Bundle: a folder that MONAI's own tools verify and run.

    configs/metadata.json   description, input and output formats
    configs/inference.json  the components MONAI instantiates
    models/                 the ensemble as `folder.py` has it; no pickle
    docs/                   README.md, license.txt
    LICENSE

`network_def` is the network alone, for slices; `evaluator` is the complete prediction, from volumes
to spans.tsv. Source: MONAI Bundle Specification (docs.monai.io), with safetensors instead of its
pickled model.pt.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fovnet._version import __version__
from fovnet.decision import novelty, orientation
from fovnet.decision.answer import SPANS_TABLE_NAME, span_columns
from fovnet.decision.ensemble import Ensemble, load_ensemble
from fovnet.decision.folder import FACTS_FILE_NAME, RULE_FILE_NAME, ModelFolder
from fovnet.decision.model import Model
from fovnet.decision.networks import load_members, write_graph_part
from fovnet.decision.parts import write_sums
from fovnet.errors import ModelError
from fovnet.late import import_late
from fovnet.own_files import find_path_answered_before, is_our_table, refuse_foreign
from fovnet.records import copy_file, write_json, write_text, write_tsv
from fovnet.volume.slices.resizing import SIDE_PIXELS

if TYPE_CHECKING:
    from torch import nn

    from fovnet.net.family import mixture
else:  # torch
    mixture = import_late("fovnet.net.family.mixture")

METADATA_SCHEMA_URL = "https://github.com/Project-MONAI/MONAI-extra-test-data/releases/download/0.8.1/meta_schema_20240725.json"
REQUIRED_PACKAGES = ("nibabel", "safetensors", "scipy", "pydantic", "onnxruntime")


def network(folder: str) -> nn.Module:
    """The ensemble in a folder as one network, on the CPU: images (n, c, 128, 128) to probabilities
    (n, k)."""
    return _weighted_mixture(load_ensemble(Path(folder), "cpu"), Path(folder)).eval()


class Evaluator:
    """What MONAI runs: predicts every volume of a data set of files and folders; `spans.tsv` and a
    JSON per volume in `output_dir`."""

    def __init__(self, model: Model, dataset: Sequence[Any], output_dir: str) -> None:
        self._model = model
        self._dataset = dataset
        self._out = Path(output_dir)

    def run(self) -> Path:
        """The path of spans.tsv; volumes that cannot be read are listed in it as refused.

        Raises ConfigError "out-foreign" if `output_dir` holds a file with the name of an answer
        that is not fovnet's.
        """
        refuse_foreign(self._out / SPANS_TABLE_NAME, is_our_table)
        # if this run is killed, no earlier table may be taken for its own
        (self._out / SPANS_TABLE_NAME).unlink(missing_ok=True)
        rows: list[dict[str, Any]] = []
        for answer in self._model.predict_many([item["image"] for item in self._dataset]):
            find_path_answered_before(self._out, answer.volume_id)
            facts = answer.to_dict()
            rows += facts["rows"]
            write_json(self._out / f"{answer.volume_id}.json", facts)
        columns = span_columns(self._model.parts)
        return write_tsv(self._out / SPANS_TABLE_NAME, columns, rows)


def write_bundle(model: Path, folder: Path) -> Path:
    """`folder`, a bundle of the ensemble in `model`.

    Raises ModelError if the model cannot be loaded ("model-missing", "weights-damaged", ...), is
    the bundle's own model ("bundle-of-itself"), or the folder holds something other than a bundle
    ("bundle-exists").
    """
    if folder.exists() and not _is_bundle_or_empty(folder):
        raise ModelError(
            "bundle-exists", f"{folder}: exists and is not a bundle; give a new folder"
        )
    models_folder = folder / "models"
    if model.resolve().is_relative_to(models_folder.resolve()):
        raise ModelError(
            "bundle-of-itself",
            f"{model}: is the model of the bundle {folder}, which would be replaced; give another "
            "folder",
        )
    ensemble = load_ensemble(model, "cpu")
    part_names = [
        FACTS_FILE_NAME,
        RULE_FILE_NAME,
        novelty.NOVELTY_FILE_NAME,
        orientation.ORIENTATION_FILE_NAME,
        "model-card.md",
        *(network_file.name for network_file in ModelFolder(model).networks),
    ]
    present_names = [part_name for part_name in part_names if (model / part_name).is_file()]
    for part_name in present_names:
        copy_file(model / part_name, models_folder / part_name)
    for stale_path in models_folder.iterdir():
        if stale_path.name not in present_names and stale_path.is_file():
            stale_path.unlink()
    with suppress(ModelError):  # networks without a graph are computed by torch
        present_names.append(write_graph_part(models_folder).name)
    write_sums(models_folder, present_names)
    _write_plain_json(
        folder / "configs" / "metadata.json",
        _bundle_metadata(ensemble, _weighted_mixture(ensemble, model)),
    )
    _write_plain_json(folder / "configs" / "inference.json", INFERENCE)
    write_text(folder / "docs" / "README.md", README.format(version=__version__))
    for path in (folder / "LICENSE", folder / "docs" / "license.txt"):
        write_text(path, _licence_text())
    return folder


def _is_bundle_or_empty(folder: Path) -> bool:
    if not folder.is_dir():
        return False
    return (folder / "configs" / "metadata.json").is_file() or not any(folder.iterdir())


def _weighted_mixture(ensemble: Ensemble, folder: Path) -> mixture.Mixture:
    """The networks of the ensemble in a folder as one, weighted by its rule."""
    members = load_members(ModelFolder(folder))
    return mixture.Mixture(members, ensemble.rule.member_weights(len(members)).tolist())


def _bundle_metadata(ensemble: Ensemble, network: mixture.Mixture) -> dict[str, Any]:
    """The metadata of the bundle of an ensemble, as MONAI's schema has them."""
    classes = ensemble.network_vocabulary.classes
    tensor_format = {"dtype": "float32", "value_range": [0, 1], "is_patch_data": False}
    return {
        "schema": METADATA_SCHEMA_URL,
        "version": __version__,
        "changelog": {__version__: f"the ensemble {ensemble.identity[:16]}"},
        "name": "fovnet: body regions of an MRI volume",
        "monai_version": metadata.version("monai"),
        "pytorch_version": metadata.version("torch").partition("+")[0],
        "numpy_version": metadata.version("numpy"),
        "required_packages_version": {name: metadata.version(name) for name in REQUIRED_PACKAGES}
        | {"fovnet": __version__},
        "task": "Which body regions an MRI volume shows, from which millimetre to which",
        "description": f"{ensemble.engine.member_count} networks that give axial slices the probabilities "
        f"of {', '.join(classes)}; fovnet turns "
        "those of a volume into regions with extents in scanner millimetres and a confidence",
        "authors": "the authors of fovnet",
        "copyright": "Apache-2.0",
        "data_source": "see models/model-card.md, where there is one",
        "data_type": "nifti, dicom, nrrd, metaimage, analyze, mgh, gipl",
        "image_classes": f"axial slice, {SIDE_PIXELS} x {SIDE_PIXELS}, grey values in [0, 1], the patient's "
        "right on the left",
        "pred_classes": ", ".join(classes),
        "eval_metrics": {},
        "intended_use": "Sorting and checking archives. Not for diagnosis.",
        "references": [
            "Bertrand et al., Classification of MRI data using deep learning and Gaussian "
            "process-based model selection, ISBI 2017"
        ],
        "network_data_format": {
            "inputs": {
                "image": {
                    "type": "image",
                    "format": "magnitude",
                    "modality": "MR",
                    "num_channels": network.channels,
                    "spatial_shape": [SIDE_PIXELS, SIDE_PIXELS],
                    **tensor_format,
                    "channel_def": {
                        str(channel): "slice" if channel == 0 else f"input {channel}"
                        for channel in range(network.channels)
                    },
                }
            },
            "outputs": {
                "pred": {
                    "type": "probabilities",
                    "format": "classes",
                    "num_channels": len(classes),
                    "spatial_shape": [],
                    **tensor_format,
                    "channel_def": {
                        str(class_index): name for class_index, name in enumerate(classes)
                    },
                }
            },
        },
    }


INFERENCE: dict[str, Any] = {
    "imports": ["$import torch"],
    "bundle_root": ".",
    "models": "$@bundle_root + '/models'",
    "dataset_dir": "$@bundle_root + '/data'",
    "output_dir": "$@bundle_root + '/eval'",
    "device": "$torch.device('cuda:0' if torch.cuda.is_available() else 'cpu')",
    "datalist": "$[{'image': @dataset_dir}]",
    "dataset": {"_target_": "monai.data.Dataset", "data": "@datalist"},
    "network_def": {"_target_": "fovnet.decision.bundle.network", "folder": "@models"},
    "network": "$@network_def.to(@device)",
    "inferer": {"_target_": "monai.inferers.SimpleInferer"},
    "model": {
        "_target_": "fovnet.load",
        "folder": "@models",
        "device": "$str(@device).partition(':')[0]",
    },
    "evaluator": {
        "_target_": "fovnet.decision.bundle.Evaluator",
        "model": "@model",
        "dataset": "@dataset",
        "output_dir": "@output_dir",
    },
    "initialize": [],
    "run": ["$@evaluator.run()"],
}

README = """# fovnet {version} as a MONAI Bundle

Which regions of the body an MRI volume shows, from which millimetre to which, and how sure that is. Not for
diagnosis.

    pip install fire        # beside fovnet, from its clone or its wheel, which brings monai
    python -m monai.bundle run --config_file configs/inference.json --bundle_root . \\
        --dataset_dir /path/to/volumes --output_dir answers

`answers/spans.tsv` has one row per region; one JSON per volume holds everything. `fovnet predict VOLUMES --model
models --out answers` gives the same, with pages and pictures. `network_def` is the ensemble as one network
from slices to probabilities; the weights are safetensors, and nothing here is a pickle.
"""


def _licence_text() -> str:
    """The text of the licence, from the installed package or the clone."""
    file_in_clone = Path(__file__).parents[2] / "LICENSE"
    if file_in_clone.is_file():
        return file_in_clone.read_text(encoding="utf-8")
    try:
        licence_text = metadata.distribution("fovnet").read_text("licenses/LICENSE")
    except metadata.PackageNotFoundError:
        licence_text = None
    return (
        licence_text or "Apache License, Version 2.0: https://www.apache.org/licenses/LICENSE-2.0\n"
    )


def _write_plain_json(path: Path, facts: dict[str, Any]) -> None:
    """JSON without fovnet's stamp, which MONAI would read as part of the configuration."""
    write_text(path, json.dumps(facts, indent=4) + "\n")
