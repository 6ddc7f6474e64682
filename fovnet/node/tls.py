"""Encrypted connections, by the standard library."""

from __future__ import annotations

import ssl
from pathlib import Path

from fovnet.errors import ConfigError


def server_context(
    cert: Path | None, key: Path | None, authorities: Path | None
) -> ssl.SSLContext | None:
    """The context of a node that speaks TLS alone, 1.2 or later; with authorities, callers must
    have a certificate of theirs.  None without a certificate.

    Raises ConfigError "node-tls" for what is no certificate, or a key without one.
    """
    if cert is None:
        if key or authorities:
            raise ConfigError(
                "node-tls", "--tls-key or --tls-ca without --tls-cert; give that, too"
            )
        return None
    return _load_files(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), cert, key, authorities)


def client_context(cert: Path | None, key: Path | None, authorities: Path | None) -> ssl.SSLContext:
    """The context for calls to a peer, whose certificate must be of these authorities, or without
    any of those that the system trusts, and name its host.  Raises as `server_context`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if authorities is None:
        context.load_default_certs()
    return _load_files(context, cert, key, authorities)


def _load_files(
    context: ssl.SSLContext, cert: Path | None, key: Path | None, authorities: Path | None
) -> ssl.SSLContext:
    """The context, with certificate, key and authorities read into it.  Raises ConfigError
    "node-tls"."""
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        if cert is not None:
            context.load_cert_chain(cert, key)
        if authorities is not None:
            context.load_verify_locations(authorities)
            context.verify_mode = ssl.CERT_REQUIRED
    except OSError as fault:  # ssl.SSLError is one
        path_by_option = {"--tls-cert": cert, "--tls-key": key, "--tls-ca": authorities}
        options_in_words = ", ".join(
            f"{option} {path}" for option, path in path_by_option.items() if path
        )
        raise ConfigError(
            "node-tls",
            f"{options_in_words}: cannot be used ({fault.strerror or fault}); give PEM files, the key "
            "without a password",
        ) from fault
    return context
