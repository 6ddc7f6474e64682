"""Seeded evaluated volumes with planted errors: truth, probabilities, decisions and a plain picture of a
body, no network needed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from fovnet.evaluate.cases import Case, StoredSpan
from fovnet.regions import DEFAULT

CLASSES = DEFAULT.classes
CHAIN = DEFAULT.chain


def labels(names):
    """Label rows (s, k) from names; "spine+chest" carries both."""
    rows = np.zeros((len(names), len(CLASSES)), dtype=bool)
    for row, name in zip(rows, names, strict=True):
        for part in name.split("+"):
            row[CLASSES.index(part)] = True
    return rows


def probabilities(rows, top=0.8):
    """Rows (s, k) of probability: `top` shared by the labelled classes, the rest spread evenly."""
    count = rows.sum(1, keepdims=True)
    return np.where(rows, top / count, (1 - top) / (rows.shape[1] - count))


def spans(rows, z_mm, confidence):
    """Stretches of every run of each region, as the decision would hand them on."""
    half = float(np.median(np.diff(z_mm))) / 2 if len(z_mm) > 1 else 1.0
    found = []
    for column, region in enumerate(CLASSES[:-1]):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], rows[:, column].astype(int), [0]])))
        for first, last in zip(edges[::2], edges[1::2] - 1, strict=True):
            sure = float(confidence[first : last + 1].mean())
            found.append(
                StoredSpan(
                    region,
                    float(z_mm[first] - half),
                    float(z_mm[last] + half),
                    int(first),
                    int(last),
                    sure,
                )
            )
    return tuple(sorted(found, key=lambda one: one.from_mm))


def case(
    truth,
    predicted=None,
    *,
    raw=None,
    volume_id="v1",
    subject_id=None,
    collection="phantom",
    status="ok",
    message="",
    attributes=None,
    spacing_mm=5.0,
    confidence=None,
    pixels=None,
    side_mm=420.0,
):
    """A case from names of classes slice by slice; what is not given is predicted rightly."""
    predicted = truth if predicted is None else predicted
    raw = predicted if raw is None else raw
    z_mm = np.arange(len(truth)) * spacing_mm
    decided = labels(predicted)
    sure = np.full(len(truth), 0.9) if confidence is None else np.asarray(confidence, dtype=float)
    return Case(
        volume_id,
        subject_id or f"subject-{volume_id}",
        collection,
        status,
        message,
        attributes or {},
        z_mm,
        labels(truth),
        probabilities(labels(raw)),
        probabilities(decided, 0.9),
        decided,
        sure,
        spans(decided, z_mm, sure),
        pixels,
        side_mm,
    )


def refused(volume_id, message, *, subject_id=None, collection="phantom", attributes=None):
    """A volume that was refused: no slices, a sentence."""
    empty = np.zeros((0, len(CLASSES)))
    return Case(
        volume_id,
        subject_id or f"subject-{volume_id}",
        collection,
        "refused",
        message,
        attributes or {},
        np.zeros(0),
        empty.astype(bool),
        empty,
        empty,
        empty.astype(bool),
        np.zeros(0),
        (),
        None,
        0.0,
    )


def body(truth, rng):
    """A plain body (s, 128, 128) uint8: an ellipse a slice whose width follows the region, two of them for
    legs, noise for none."""
    widths = dict(zip(CHAIN, (17, 34, 36, 40, 19), strict=True))
    target = np.array([widths.get(name.split("+")[-1], 0) for name in truth], dtype=float)
    smooth = np.convolve(np.pad(target, 4, mode="edge"), np.ones(9) / 9, mode="valid")
    row, column = np.mgrid[:128, :128] - 63.5
    stack = rng.integers(0, 20, (len(truth), 128, 128), dtype=np.uint8).astype(np.float32)
    for image, name, width in zip(stack, truth, smooth, strict=True):
        if name == "none":
            continue
        for centre in (-26, 26) if name == CHAIN[0] else (0,):
            radius = np.hypot((column - centre) / width, row / (0.62 * width + 4))
            image += np.where(radius < 1, 95 + 60 * np.sin(5 * radius) ** 2, 0) + np.where(
                (radius > 0.86) & (radius < 1), 80, 0
            )
    return np.clip(stack, 0, 255).astype(np.uint8)


def whole_body(
    rng,
    volume_id,
    *,
    first=0,
    last=4,
    spacing_mm=6.0,
    shift=2.0,
    flicker=0.08,
    air=6,
    spine=False,
    **more,
):
    """A volume from region `first` to `last` of the chain: predicted borders shifted by about `shift` slices,
    raw classes that flicker."""
    lengths = (rng.normal((70, 22, 24, 26, 34), 2) * 6 / spacing_mm).astype(int)[first : last + 1]
    names = [CHAIN[first + index] for index, length in enumerate(lengths) for _ in range(length)]
    truth = names + ["none"] * (air if last == len(CHAIN) - 1 else 0)
    moved = np.arange(len(truth))
    offset = np.rint(rng.normal(0, shift, len(CHAIN) + 2)).astype(int)
    for edge, step in zip(
        np.flatnonzero([a != b for a, b in pairwise(truth)]), offset, strict=False
    ):
        span = slice(edge + 1, edge + 1 + step) if step > 0 else slice(edge + 1 + step, edge + 1)
        moved[span] = edge if step > 0 else edge + 1
    predicted = [truth[index] for index in moved]
    if spine:
        truth, predicted = (
            [f"spine+{name}" for name in truth],
            [f"spine+{name}" for name in predicted],
        )
    blurred = probabilities(labels(predicted), 0.86)
    raw = 0.85 * blurred + 0.15 * rng.dirichlet(np.full(len(CLASSES), 0.3), len(truth))
    wrong = rng.random(len(truth)) < flicker
    raw[wrong] = rng.dirichlet(np.full(len(CLASSES), 0.25), int(wrong.sum()))
    kernel = np.exp(-0.5 * (np.arange(-4, 5) / 1.6) ** 2)
    smooth = np.stack(
        [
            np.convolve(np.pad(column, 4, mode="edge"), kernel / kernel.sum(), "valid")
            for column in raw.T
        ],
        axis=1,
    )
    z_mm = -400.0 + np.arange(len(truth)) * spacing_mm
    decided, sure = labels(predicted), np.clip(smooth.max(1) + 0.08, 0, 1)
    return Case(
        volume_id,
        more.get("subject_id", f"subject-{volume_id}"),
        more.get("collection", "phantom"),
        more.get("status", "ok"),
        more.get("message", ""),
        more.get("attributes", {}),
        z_mm,
        labels(truth),
        raw,
        smooth / smooth.sum(1, keepdims=True),
        decided,
        sure,
        spans(decided, z_mm, sure),
        body(truth, rng) if more.get("pictured") else None,
        460.0,
    )


def collection(seed=0, subjects=10, pictured=False):
    """A test split: whole bodies, parts, spines, a real collection, an uncertain and two refused volumes."""
    rng = np.random.default_rng([seed, 7])
    makers = ("Alpha", "Beta")
    found = []
    for number in range(subjects):
        name, field = f"P{number:02d}", "1.5" if number % 3 == 0 else "3.0"
        shared = {
            "subject_id": name,
            "attributes": {"manufacturer": makers[number % 2], "field_strength": field},
            "pictured": pictured,
        }
        shift, flicker = 0.8 + 0.3 * (number % 3), 0.04 + 0.02 * (number % 4)
        found.append(whole_body(rng, f"{name}-body", shift=shift, flicker=flicker, **shared))
        if number % 2:
            found.append(
                whole_body(
                    rng,
                    f"{name}-part",
                    first=1,
                    last=3,
                    spacing_mm=8.0,
                    shift=0.6,
                    flicker=0.05,
                    **shared,
                )
            )
        if number % 3 == 0:
            found.append(
                whole_body(
                    rng,
                    f"{name}-spine",
                    first=2,
                    last=3,
                    spine=True,
                    flicker=0.02,
                    shift=0.8,
                    **shared,
                )
            )
    real = {"collection": "real", "attributes": {"manufacturer": "Alpha", "field_strength": "3.0"}}
    pictures = {"pictured": pictured, **real}
    found.append(whole_body(rng, "real-head", first=4, last=4, flicker=0.1, air=4, **pictures))
    unsure = {"status": "uncertain", "message": "Two runs of regions fit almost equally well."}
    found.append(
        whole_body(
            rng, "real-abdomen", first=1, last=3, flicker=0.35, shift=4.0, **unsure, **pictures
        )
    )
    sentence = "real-localizer.dcm: three planes in one file, one is wanted. Export the planes as separate series."
    found.append(refused("real-localizer", sentence, **real))
    found.append(
        refused("P99-body", "P99-body.nii.gz: the file ends after 1.2 of 8.4 MB. Copy it again.")
    )
    return found
