"""Who is connected: callers that have no association, and those that have one.

Only an association counts for the limit.  A connection without one, as of a port probe, is closed
after some seconds; where too many wait, the one that has waited longest goes, never the newest,
which may be a scanner's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from socket import SHUT_RDWR
from threading import Lock

from pynetdicom.association import Association

from fovnet.node.connection import BoundedSocket

MOST_WAITING = 64  # connections without an association; each takes two threads


@dataclass
class Lobby:
    """Connections of one door, entered and left from any thread.

    most_associations  at once
    has_turned_away    whether a caller found no room since there was some
    """

    most_associations: int
    has_turned_away: bool = False
    _connections: dict[Association, BoundedSocket] = field(default_factory=dict)
    _waiting: list[Association] = field(default_factory=list)
    _associated: list[Association] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def enter(self, association: Association, connection: BoundedSocket) -> None:
        """Lets a connection in that has no association yet."""
        longest_waiting: BoundedSocket | None = None
        with self._lock:
            self._connections[association] = connection
            self._waiting.append(association)
            if len(self._waiting) > MOST_WAITING:
                longest_waiting = self._connections.get(self._waiting.pop(0))
        if longest_waiting is not None:
            longest_waiting.shutdown(SHUT_RDWR)

    def associate(self, association: Association) -> bool:
        """Takes a connection as an association until it ends, if there is room for one more; whether
        there was."""
        with self._lock:
            has_room = self._count_associated() < self.most_associations
            self.has_turned_away = not has_room
            if has_room:
                self._associated.append(association)
                _remove_if_there(self._waiting, association)
            return has_room

    def leave(self, association: Association) -> BoundedSocket | None:
        """Forgets a connection that is closed; what it was, None where it is forgotten already."""
        with self._lock:
            _remove_if_there(self._waiting, association)
            _remove_if_there(self._associated, association)
            return self._connections.pop(association, None)

    def find_ended_associations(self) -> list[Association]:
        """The connections whose thread has ended.  pynetdicom 3.0.4 tells of no end where a caller sent part
        of a request at once and then nothing."""
        with self._lock:
            return [
                association
                for association in self._connections
                if association.ident is not None and not association.is_alive()
            ]

    @property
    def association_count(self) -> int:
        """How many associations there are now."""
        with self._lock:
            association_count = self._count_associated()
            if association_count < self.most_associations:
                self.has_turned_away = False
            return association_count

    def _count_associated(self) -> int:
        """The number of associations that have not ended; the others are forgotten."""
        self._associated = [
            association
            for association in self._associated
            if association.is_alive() and not (association.is_released or association.is_aborted)
        ]
        return len(self._associated)


def _remove_if_there(associations: list[Association], association: Association) -> None:
    if association in associations:
        associations.remove(association)
