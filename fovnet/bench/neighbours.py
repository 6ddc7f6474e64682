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
    spawn_context = get_context("spawn")
    with ExitStack() as exit_stack:
        receivers = []
        for _ in range(count):
            receiver, sender = spawn_context.Pipe()
            process = spawn_context.Process(
                target=_compute, args=(os.getpid(), sender), daemon=True
            )
            process.start()
            sender.close()
            exit_stack.callback(process.join)
            exit_stack.callback(process.kill)
            receivers.append(receiver)
        yield tuple(receiver.recv() for receiver in receivers)


def _compute(parent_id: int, ready_sender: Connection) -> None:
    end_with(parent_id)
    ready_sender.send(os.getpid())
    while True:
        pass
