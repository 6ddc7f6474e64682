"""How an archive lets us in: a token, or a name and a password, from a file or the environment, never
from an argument, which every user of the machine can read.

    FOVNET_ARCHIVE_TOKEN                            a bearer token
    FOVNET_ARCHIVE_USER, FOVNET_ARCHIVE_PASSWORD    a name and a password
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from netrc import NetrcParseError, netrc
from pathlib import Path

from requests import PreparedRequest
from requests.auth import AuthBase, HTTPBasicAuth

from fovnet.errors import ConfigError

TOKEN_VARIABLE = "FOVNET_ARCHIVE_TOKEN"
USER_VARIABLE = "FOVNET_ARCHIVE_USER"
PASSWORD_VARIABLE = "FOVNET_ARCHIVE_PASSWORD"


@dataclass(frozen=True)
class TokenFile(AuthBase):
    """The bearer token in a file, read for each request: whoever renews it replaces the file."""

    path: Path

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        request.headers["Authorization"] = f"Bearer {_read_token(self.path)}"
        return request


@dataclass(frozen=True)
class Token(AuthBase):
    """A bearer token."""

    text: str = field(repr=False)

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self.text}"
        return request


class NoCredentials(AuthBase):
    """Nothing is sent: without it, requests would look into the user's own netrc."""

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        return request


def credentials_of(
    host: str,
    netrc_path: Path | None,
    token_path: Path | None,
    environment: Mapping[str, str] = os.environ,
) -> AuthBase:
    """What is sent to a host: of the token file, else of the netrc file, else of the environment.

    Raises ConfigError "archive-credentials" for files that cannot be used, or lack the host.
    """
    if token_path is not None:
        _read_token(token_path)
        return TokenFile(token_path)
    if netrc_path is not None:
        return _read_netrc(netrc_path, host)
    if token := environment.get(TOKEN_VARIABLE):
        return Token(token)
    if user := environment.get(USER_VARIABLE):
        return HTTPBasicAuth(user, environment.get(PASSWORD_VARIABLE, ""))
    return NoCredentials()


def _read_token(path: Path) -> str:
    """The token in a file, its first line.  Raises ConfigError "archive-credentials"."""
    try:
        token = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        token = ""
    if not token or len(token.split()) > 1:
        raise ConfigError(
            "archive-credentials",
            f"--token-file {path}: holds no token; give a readable file with the token alone",
        )
    return token


def _read_netrc(path: Path, host: str) -> HTTPBasicAuth:
    """Name and password of a host.  Raises ConfigError "archive-credentials"."""
    try:
        entry = netrc(path).authenticators(host)
    except (OSError, NetrcParseError, UnicodeDecodeError):
        entry = None
    if entry is None:
        raise ConfigError(
            "archive-credentials",
            f"--netrc {path}: has no name and password for {host}; give a readable file with a line "
            f"`machine {host} login NAME password WORD`",
        )
    user, _, password = entry
    return HTTPBasicAuth(user, password or "")
