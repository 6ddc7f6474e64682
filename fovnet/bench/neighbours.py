"""Other work on the machine, as on a shared node: processes that compute without a pause."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection

from fovnet.machine.parallel import end_with


@contextmanager
def neighbours(count: int) -> Iterator[tuple[int, ...]]:
    """While the block runs, `count` processes compute, all of them from its beginning; yields their
    process ids.  They end with the block, and within a second after this process, however it
    ends."""
    spawn = get_context("spawn")
    with ExitStack() as end:
        receivers = []
        for _ in range(count):
            receiver, sender = spawn.Pipe()
            process = spawn.Process(target=_compute, args=(os.getpid(), sender), daemon=True)
            process.start()
            sender.close()
            end.callback(process.join)
            end.callback(process.kill)
            receivers.append(receiver)
        yield tuple(receiver.recv() for receiver in receivers)


def _compute(parent: int, ready: Connection) -> None:
    end_with(parent)
    ready.send(os.getpid())
    while True:
        pass
