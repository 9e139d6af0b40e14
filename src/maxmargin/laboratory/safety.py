"""Who may talk to the lab, how much and how fast.

Another page in the same browser must not reach the lab: by its address (the Origin is checked), nor by
a name it owns that it points to 127.0.0.1 (the Host is checked; "DNS rebinding"), nor inside a frame.
On a network, a token in the link keeps others out. What the page may load is itself alone.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
import socket
import time
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

__all__ = ["Guard", "Guarded", "Throttle", "guard_for", "is_loopback"]

MESSAGE = 4 * 2**20  # bytes in one message
CONNECTIONS = 32  # websockets at a time
RATE, BURST = 1_000, 4_000  # requests a second, and how many at once: dragging stays far below
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",  # the token is in the address
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def is_loopback(host: str) -> bool:
    """Whether an address is reachable from this computer alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


@dataclass(frozen=True)
class Guard:
    """The names under which the lab may be called, and its token if it needs one."""

    names: frozenset[str]
    token: str | None = None
    any_address: bool = False

    def knows_host(self, host: str) -> bool:
        """Whether a Host header names this lab (the port is free: it may be forwarded)."""
        name = _name(host)
        if name is None:
            return False
        return name in self.names or (self.any_address and _is_address(name))

    def same_origin(self, origin: str, host: str) -> bool:
        """Whether a page of this origin is a page of this very lab."""
        parts = urlsplit(origin)
        return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()

    def lets_in(self, query: str) -> bool:
        """Whether the address carries the token; compared in constant time."""
        given = parse_qs(query).get("token", [""])[0]
        return self.token is None or secrets.compare_digest(given.encode(), self.token.encode())

    def refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Why a request is refused, as a status and a sentence; None if it is welcome."""
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if not self.knows_host(host):
            return 421, "The lab answers under its own address only. Use the link it has printed."
        if origin is None and scope["type"] == "websocket":
            return 403, "A connection must say which page it comes from (Origin)."
        if origin is not None and not self.same_origin(origin, host):
            return 403, "The lab answers its own page only."
        needs_token = scope["type"] == "websocket" or scope["path"] in ("/", "/index.html")
        if needs_token and not self.lets_in(scope["query_string"].decode("latin-1")):
            return 403, "This lab needs the whole link that was printed where it was started (?token=…)."
        return None


def guard_for(host: str) -> Guard:
    """On loopback its three names; elsewhere a fresh token, this computer's names and any address."""
    if is_loopback(host):
        return Guard(frozenset({*LOOPBACK_NAMES, host.lower()}))
    own = socket.gethostname().lower()
    names = {*LOOPBACK_NAMES, host.lower(), own, f"{own}.local"}
    return Guard(frozenset(names), secrets.token_urlsafe(24), any_address=True)


class Guarded:
    """The app behind its guard; every response carries the headers that protect the page."""

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self.app, self.guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on."""
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        headers = {**HEADERS, "Content-Security-Policy": _policy(Headers(scope=scope).get("host", ""))}

        async def send_protected(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                protected = MutableHeaders(scope=message)
                protected.update(headers)
                if message["type"] == "websocket.http.response.start":
                    del protected["content-length"]  # uvicorn counts again, and the older ones sent both
            await send(message)

        refusal = self.guard.refusal(scope)
        if refusal is None:
            return await self.app(scope, receive, send_protected)
        response = PlainTextResponse(f"{refusal[1]}\n", status_code=refusal[0])
        if scope["type"] == "websocket":
            return await WebSocket(scope, receive, send_protected).send_denial_response(response)
        return await response(scope, receive, send_protected)


@dataclass
class Throttle:
    """A bucket of requests that fills up at a steady rate: how long the next one has to wait."""

    rate: float = RATE
    burst: float = BURST
    left: float = field(init=False)
    at: float = field(init=False)

    def __post_init__(self) -> None:
        self.left, self.at = self.burst, time.monotonic()

    def wait(self) -> float:
        """Take one request out of the bucket; the seconds until it is covered."""
        now = time.monotonic()
        self.left = min(self.burst, self.left + (now - self.at) * self.rate) - 1
        self.at = now
        return max(0.0, -self.left / self.rate)


def _name(host: str) -> str | None:
    """The name in a Host header; None if it is not of the form name, name:port or [address]:port."""
    if not re.fullmatch(r"[\w.:\[\]-]+", host, re.ASCII):
        return None
    try:
        parts = urlsplit(f"//{host}")
        return parts.hostname if parts.port != 0 else None
    except ValueError:
        return None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _policy(host: str) -> str:
    """What the page may load. Some browsers do not count the websocket to 'self', so it is named."""
    sockets = f" ws://{host} wss://{host}" if _name(host) else ""
    return (
        f"default-src 'self'; img-src 'self' data: blob:; connect-src 'self'{sockets}; "
        "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
