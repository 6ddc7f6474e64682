"""New volumes in, answers out, one after another; none can stop or change another's."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.answer import Answer, answer, refusal
from fovnet.decision.ensemble import Ensemble
from fovnet.decision.spans import decide
from fovnet.errors import FovnetError, VolumeError
from fovnet.volume.slices import SliceStack, Slicing, slice_volume

READ_AHEAD = 2      # volumes: one being cut while another is being classified, and no more in memory


@dataclass(frozen=True)
class Predicted:
    """One volume's answer, with the slices and the ensemble's probabilities behind it (None where it was refused)."""

    answer: Answer
    stack: SliceStack | None = None
    raw: NDArray[np.float64] | None = None


def predict(paths: Sequence[tuple[str, Path]], ensemble: Ensemble) -> Iterator[Predicted]:
    """The answers for (volume_id, path) pairs, in order, each as soon as it is there; the next volumes are read meanwhile."""
    slicing = Slicing(**ensemble.prepare)
    with ThreadPoolExecutor(1) as reader:
        ahead: deque[tuple[str, Path, Future[SliceStack]]] = deque()
        for volume_id, path in paths:
            ahead.append((volume_id, path, reader.submit(slice_volume, path, slicing)))
            if len(ahead) > READ_AHEAD:
                yield _predicted(*ahead.popleft(), ensemble)
        while ahead:
            yield _predicted(*ahead.popleft(), ensemble)


def _predicted(volume_id: str, path: Path, reading: Future[SliceStack], ensemble: Ensemble) -> Predicted:
    try:
        stack = reading.result()
        raw = ensemble.probabilities(stack.pixels)
        decision = decide(raw, stack.z_mm, ensemble.vocabulary, ensemble.rule)
        return Predicted(answer(volume_id, str(path), decision, ensemble.rule, stack.notes), stack, raw)
    except FovnetError as error:
        return Predicted(refusal(volume_id, str(path), error))
    except MemoryError:
        large = VolumeError("volume-too-large", f"{path}: not enough memory to look at it; resample it to larger voxels")
        return Predicted(refusal(volume_id, str(path), large))
