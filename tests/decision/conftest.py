"""A body in probabilities: what a good but noisy network would say of a volume whose borders are known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fovnet.decision.tuning import Example
from fovnet.regions import DEFAULT

CLASSES = DEFAULT.classes
N = len(DEFAULT.chain)


def body(seed: int, *, spacing_mm: float = 5.0, noise: float = 1.0, spine: bool = False, empty_mm: float = 60.0) -> Example:
    """Noisy probabilities of a volume from below the feet to above the head, 150 mm a region; with `spine`, spine at all of it."""
    rng = np.random.default_rng(seed)
    z_mm = np.arange(-empty_mm, N * 150 + empty_mm, spacing_mm) + 100.0
    rung = np.floor((z_mm - 100.0) / 150).astype(int)
    truth = np.zeros((len(z_mm), len(CLASSES)), dtype=bool)
    inside = (rung >= 0) & (rung < N)
    truth[np.flatnonzero(inside), rung[inside]] = True
    if spine:
        truth[inside, CLASSES.index("spine")] = True
    truth[~inside, -1] = True
    score = 4.0 * truth / truth.sum(axis=1, keepdims=True) * (1.5 if spine else 1.0) + rng.normal(scale=noise, size=truth.shape)
    p = np.exp(score)
    return Example(p / p.sum(axis=1, keepdims=True), z_mm, truth)


@pytest.fixture(scope="session")
def bodies() -> Callable[..., Example]:
    return body


PREPARE = {"target_spacing_mm": 3.0, "max_tilt_deg": 20.0}


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a run leaves that its ensemble is shipped from: two small networks with weights as drawn, kept as float16; card, settings."""
    import torch

    from fovnet.config import parse, write_settings
    from fovnet.decision import novelty
    from fovnet.decision.ensemble import assemble, load, save_rule
    from fovnet.decision.spans import Rule
    from fovnet.net.architecture import Architecture
    from fovnet.net.model import build
    from fovnet.net.weights import save_network
    from fovnet.records import write_text, write_tsv
    from fovnet.results import Results
    from fovnet.volume.slices import Slicing, looks

    results = Results(tmp_path_factory.mktemp("finished"))
    net = Architecture(4, 1, 2, 3, False, classes=len(CLASSES), head="gap")
    inputs, members = {"classes": DEFAULT.classes, "slices": looks(Slicing(**PREPARE))}, []
    for slot in (2, 5):
        path = results.folder / "networks" / f"slot-{slot:04d}.safetensors"
        save_network(path, build(net, torch.Generator().manual_seed(slot)), net, inputs)
        members.append({"slot": slot, "score": slot / 10, "configuration": {"blocks": 4}, "weights": str(path)})
    people = {"train": ["0123456789ab"], "validation": ["ba9876543210"]}
    assemble(results.ensemble, members, DEFAULT, PREPARE, settings={}, seed=1, subjects=people, precision="float16")
    save_rule(results.ensemble, Rule(sigma_mm=4.5), {"subjects": people}, settings={}, seed=1)
    pixels = np.random.default_rng(1).integers(0, 255, (80, 128, 128)).astype(np.uint8)
    truth = np.eye(len(CLASSES), dtype=bool)[np.arange(80) % len(CLASSES)]
    known = load(results.ensemble, "cpu").learn(pixels, np.arange(80), truth, seed=1)
    look = known.look(pixels)
    novelty.save(results.ensemble, novelty.calibrated(known.familiar, look.distances, known.judge.raw(look)))
    write_text(results.folder / "model-card.md", "# Model card: two networks\n\nThey have learned nothing.\n")
    write_settings(results.folder / "config.yaml", parse({"collections": {"clinic": "/archive/clinic"}}, "here"))
    row = {"volume_id": "case-17_t1", "subject_id": "case-17", "collection": "clinic", "path": "/archive/clinic/case-17/t1.nii.gz"}
    write_tsv(results.slices / "manifest.tsv", tuple(row), [row])
    return results.folder
