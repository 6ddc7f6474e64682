"""The engines compared: loading time, slices per second, and agreement with torch.

They are timed alternately in one process on the same threads, so that other load on the machine affects them
alike; the ratio is the median over the repeats.  Only the networks are timed, from images to probabilities
and features.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fovnet.bench.throughput import drawn_slices
from fovnet.bench.timing import in_turn, seconds_of
from fovnet.bench.together import Progress
from fovnet.decision.ensemble import Ensemble, load
from fovnet.errors import CollectionError
from fovnet.machine.cores import cores
from fovnet.net.images.inputs import inputs_of
from fovnet.net.inference.engines import Engine, engine_of, installed
from fovnet.net.inference.member_outputs import Outputs, answers_in_parts
from fovnet.volume.collection.pack import Pack
from fovnet.volume.slices.placing import Placing

Verdict = tuple[str, tuple[tuple[str, int, int], ...]]
COLUMNS = (
    "engine",
    "version",
    "threads",
    "load_s",
    "batch",
    "slices_per_second",
    "ratio",
    "probabilities_off",
    "features_off",
    "volumes",
    "changed",
)


def engine_times(
    model: Path,
    pack: Pack | None,
    batches: Sequence[int],
    repeats: int,
    most: int,
    progress: Progress,
) -> list[dict[str, Any]]:
    """One row of COLUMNS per engine and batch, torch first; at most `most` volumes of the pack are decided.

    ratio     of its slices per second to torch's
    probabilities_off, features_off   the largest difference from torch's, of the features relative to the
                                      largest of them
    changed   of `volumes` of the pack, how many have another status or other spans than with torch; both None
              without a pack
    Raises CollectionError "bench-no-slices" where none of the pack's volumes has slices.
    """
    if pack is not None and not len(pack.pixels):
        raise CollectionError(
            "bench-no-slices",
            f"{pack.folder}: of {len(pack.records)} volumes none has slices; give others, or none",
        )

    ensemble = load(model, "cpu")
    engines, loading = {}, {}
    for name in installed():
        began = time.perf_counter()
        engines[name] = engine_of(name, ensemble.members, ensemble.device)
        loading[name] = time.perf_counter() - began
    changed = _changed(ensemble, engines, pack, most, progress) if pack else {}
    rows = []
    for batch in batches:
        images = _images(pack, batch, inputs_of(ensemble.members))
        # also the warm-up
        outputs = {name: _answers(engine, images) for name, engine in engines.items()}
        clocks = {
            name: partial(seconds_of, _answers, engine, images) for name, engine in engines.items()
        }
        seconds = in_turn(clocks, repeats)
        for name, engine in engines.items():
            off = [
                float(np.abs(mine - torchs).max())
                for mine, torchs in zip(outputs[name], outputs["torch"], strict=True)
            ]
            volumes, others = changed.get(name, (None, None))
            rows.append(
                {
                    "engine": name,
                    "version": engine.version,
                    "threads": cores(),
                    "load_s": loading[name],
                    "batch": batch,
                    "slices_per_second": batch / float(np.median(seconds[name])),
                    "ratio": float(np.median(seconds["torch"] / seconds[name])),
                    "probabilities_off": off[0],
                    "features_off": off[1] / max(float(np.abs(outputs["torch"][1]).max()), 1e-9),
                    "volumes": volumes,
                    "changed": others,
                }
            )
    return rows


def _images(pack: Pack | None, batch: int, kinds: Sequence[str]) -> Any:
    """(batch, c, 128, 128) on the CPU: slices of the pack, evenly spaced, or simulated ones of 400 mm, 3 mm
    apart, as one volume."""
    import torch

    from fovnet.net.images.inputs import images_of

    cpu = torch.device("cpu")
    if pack is not None:
        return images_of(
            pack.pixels,
            np.linspace(0, len(pack.pixels) - 1, batch).astype(int),
            kinds,
            pack.placing,
            cpu,
        )
    drawn = drawn_slices(batch)[0]
    placing = Placing(
        np.full(batch, 400.0),
        np.zeros(batch, dtype=np.int64),
        np.arange(batch, dtype=np.float64) * 3,
    )
    return images_of(drawn, np.arange(batch), kinds, placing, cpu)


def _answers(engine: Engine, images: Any) -> Outputs:
    """The outputs for images, in parts side by side, as prediction computes them."""
    return answers_in_parts(engine, images, lambda part: part, len(images))


def _changed(
    ensemble: Ensemble, engines: dict[str, Engine], pack: Pack, most: int, progress: Progress
) -> dict[str, tuple[int, int]]:
    """The number of volumes decided, and of those that an engine decides otherwise than torch, by engine."""
    readable = [index for index, record in enumerate(pack.records) if record.status == "ok"]
    chosen = (
        [readable[at] for at in np.unique(np.linspace(0, len(readable) - 1, most).astype(int))]
        if readable
        else []
    )
    others = dict.fromkeys(engines, 0)
    for done, index in enumerate(chosen, start=1):
        verdicts = {
            name: _verdict(replace(ensemble, engine=engine), pack, index)
            for name, engine in engines.items()
        }
        for name in engines:
            others[name] += verdicts[name] != verdicts["torch"]
        progress(done, len(chosen))
    return {name: (len(chosen), count) for name, count in others.items()}


def _verdict(ensemble: Ensemble, pack: Pack, index: int) -> Verdict:
    """Status and spans of a volume."""
    record, stack = pack.records[index], pack.stack(index)
    given = ensemble.judge.answer(
        record.volume_id, record.path, ensemble.outputs_on(stack), stack, stack.notes
    )
    spans = given.decision.spans if given.decision else ()
    return given.status, tuple((span.region, span.first, span.last) for span in spans)
