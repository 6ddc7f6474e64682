"""Who may ask: the browser that was given the address, showing a page of this server, and nobody
else.

key      in the address that is printed, once; the browser keeps it as a cookie that no script reads
         and no other site's page sends along
Host     must be this address: a foreign name that is made to point here (DNS rebinding) is turned
         away
Origin   and Sec-Fetch-Site, where a browser sends them, must be this page's own: no foreign page
         reads, posts, frames or embeds anything
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

with suppress(ImportError):  # where it is missing, `serve.refuse_without_packages` says so
    from starlette.datastructures import Headers, MutableHeaders
    from starlette.responses import PlainTextResponse
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_REQUEST_BYTES = 100_000  # of a request: a label of every region is 1 kB
RESPONSE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src "
        "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """Turns away every request that may not be answered, and adds RESPONSE_HEADERS to all answers."""

    def __init__(self, app: ASGIApp, *, port: int, key: str) -> None:
        self._app = app
        self._key = key
        self._own_hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        self._cookie_name = f"fovnet-label-{port}"  # cookies do not tell ports apart

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, or refuses it with a sentence."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        key_in_address = parse_qs(scope["query_string"].decode("latin-1")).get("key", [""])[0]
        refusal = self._refusal_status_and_sentence(scope, key_in_address)
        is_opened_with_key = scope["path"] == "/" and self._is_key(key_in_address)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(RESPONSE_HEADERS)
                if is_opened_with_key and refusal is None:
                    key_cookie = (
                        f"{self._cookie_name}={self._key}; Path=/; HttpOnly; SameSite=Strict"
                    )
                    headers.append("Set-Cookie", key_cookie)
            await send(message)

        responding_app = self._app
        if refusal is not None:
            status, sentence = refusal
            responding_app = PlainTextResponse(f"{sentence}\n", status)
        await responding_app(scope, receive, with_headers)

    def _refusal_status_and_sentence(
        self, scope: Scope, key_in_address: str
    ) -> tuple[int, str] | None:
        """Status and sentence of why a request is turned away; None if it is not."""
        headers = Headers(scope=scope)
        is_page = scope["path"] == "/"
        host = headers.get("host", "")
        if host not in self._own_hosts:
            return 421, "Not an address of this page; open the one that `fovnet label` printed."
        has_foreign_origin = headers.get("origin") not in (None, f"http://{host}")
        # the address itself may be clicked in a mail
        is_fetched_by_other_site = not is_page and headers.get("sec-fetch-site", "none") not in (
            "same-origin",
            "none",
        )
        if has_foreign_origin or is_fetched_by_other_site:
            return 403, "Asked by another page."
        if headers.get("sec-fetch-dest") in ("iframe", "frame", "object", "embed"):
            return 403, "Not within another page."
        if not (is_page and self._is_key(key_in_address)) and not self._has_key_cookie(headers):
            return 403, "Open the whole address that `fovnet label` printed, with its key."
        if scope["method"] == "POST":
            return self._refusal_of_post(headers)
        return None if scope["method"] in ("GET", "HEAD") else (405, "No such request.")

    def _refusal_of_post(self, headers: Headers) -> tuple[int, str] | None:
        """(status, sentence) of why a POST is turned away, None if it is not: only the page's own
        script can post JSON from its own origin."""
        if headers.get("origin") is None:
            return 403, "Asked by no page."
        if headers.get("content-type", "").partition(";")[0] != "application/json":
            return 415, "Wanted is JSON."
        content_length = headers.get("content-length", "")
        if not content_length.isdecimal() or int(content_length) > MOST_REQUEST_BYTES:
            return 413, f"Wanted are at most {MOST_REQUEST_BYTES} bytes."
        return None

    def _is_key(self, text: str) -> bool:
        return secrets.compare_digest(text.encode(), self._key.encode())

    def _has_key_cookie(self, headers: Headers) -> bool:
        """Whether the browser has the cookie."""
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self._cookie_name)
        except CookieError:
            return False
        return cookie is not None and self._is_key(cookie.value)
