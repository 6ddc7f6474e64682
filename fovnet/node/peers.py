"""Who may call a node, and where its reports go: `AE@HOST:PORT` and `AE@NETWORK` as words of the
command line."""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from fovnet.errors import ConfigError

# printable ASCII without backslash; and without a slash
TITLE_PATTERN = re.compile(r"[!-.0-Z^-~ \]\[]{1,16}")
ANY_TITLE = "*"


@dataclass(frozen=True)
class ReportPeer:
    """A DICOM application that is called: its AE title, and where it listens."""

    title: str
    host: str
    port: int


@dataclass(frozen=True)
class Caller:
    """Who may call: an AE title, or "*" for any, from one of these networks."""

    title: str
    networks: tuple[IPv4Network | IPv6Network, ...]

    def is_at(self, address: str) -> bool:
        """Whether this caller may be at an address."""
        caller_address = ip_address(address.partition("%")[0])
        ipv4_address = getattr(caller_address, "ipv4_mapped", None)
        return any((ipv4_address or caller_address) in network for network in self.networks)


LOCAL_CALLER = Caller(ANY_TITLE, (ip_network("127.0.0.0/8"), ip_network("::1/128")))


def title_of(text: str) -> str:
    """An AE title.  Raises ConfigError "node-title" for what cannot be one (DICOM PS3.5, 6.2)."""
    if not TITLE_PATTERN.fullmatch(text) or not text.strip():
        raise ConfigError(
            "node-title",
            f"{text!r}: is no AE title, which has 1 to 16 characters of ASCII, not all blank; "
            "give one as in ARCHIVE",
        )
    return text.strip()


def peer_of(text: str, option: str = "--to ") -> ReportPeer:
    """The peer `AE@HOST:PORT` of an option, or with option "" of an argument.

    Raises ConfigError "node-peer", or as `title_of`.
    """
    match = re.fullmatch(r"(.+)@(\[[^]]+\]|[^@:]+):(\d{1,5})", text)
    if match is None or not 0 < int(match[3]) < 65536:
        raise ConfigError(
            "node-peer",
            f"{option}{text}: is no AE@HOST:PORT; give one as in ARCHIVE@pacs.example:4242",
        )
    return ReportPeer(title_of(match[1]), match[2].strip("[]"), int(match[3]))


def caller_of(text: str) -> Caller:
    """The caller `AE@NETWORK`: an address, a network such as 10.1.0.0/16, or a host's name.

    Raises ConfigError "node-caller", or as `title_of`.
    """
    title, _, network_text = text.rpartition("@")
    if not title or not network_text:
        raise ConfigError(
            "node-caller",
            f"--from {text}: is no AE@NETWORK; give one as in SCANNER@10.1.2.3 or '*@10.1.0.0/16'",
        )
    if title != ANY_TITLE:
        title = title_of(title)
    with suppress(ValueError):
        return Caller(title, (ip_network(network_text.strip("[]"), strict=False),))
    return Caller(title, _addresses(network_text, f"--from {text}"))


def all_callers(
    callers: Sequence[Caller], peer: ReportPeer | None, option: str = "--to "
) -> tuple[Caller, ...]:
    """Who may call: these, or without any those on this machine; and a peer that calls back, as the
    one that reports go to, of an option, to commit itself to keep them."""
    allowed_callers = list(callers) or [LOCAL_CALLER]
    if peer is not None:
        allowed_callers.append(Caller(peer.title, _addresses(peer.host, f"{option}{peer.host}")))
    return tuple(allowed_callers)


def _addresses(host: str, option: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """The addresses of a host, as networks of one address each.  Raises ConfigError "node-host"."""
    try:
        address_entries = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as fault:
        raise ConfigError(
            "node-host",
            f"{option}: no address of {host} is known ({fault.strerror}); give its address itself",
        ) from fault
    return tuple(
        ip_network(str(address).partition("%")[0]) for *_, (address, *_) in address_entries
    )
