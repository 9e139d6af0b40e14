"""The lab's server: the files of the page, and a websocket on which it asks.

Everything the page shows is computed by workers (see ``workers.py``).
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import ipaddress
import json
import os
import re
import secrets
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from maxmargin.laboratory.protocol import (
    MalformedError,
    channel_of,
    failed,
    id_in,
    parse_request,
    to_json,
)
from maxmargin.laboratory.workers import ENGINE, SECONDS, Job, Pool

# Where the lab listens, and the address under which others find it.


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens, so that the link works as soon as it is printed."""
    try:
        family, *_, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise _refused(f"--host must be an address of this computer. Got {host!r} instead.") from error
    dual = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
    try:
        return socket.create_server(address, family=family, backlog=128, dualstack_ipv6=dual)
    except OSError as error:
        text = f"The lab cannot listen on {host}, port {port}: {os.strerror(error.errno or 0)}."
        if error.errno == errno.EADDRINUSE:
            text = f"Port {port} of {host} is taken."
            text += " Choose another with --port; --port 0 finds a free one."
        raise _refused(text) from error


def _refused(sentence: str) -> Exception:
    from maxmargin.core.errors import InputError  # on use: it brings scikit-learn along

    return InputError(sentence)


def address_for_link(host: str) -> str:
    """The address for the link: of this computer on its network if the lab listens everywhere."""
    if host in ("0.0.0.0", "::"):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, suppress(OSError):
            probe.connect(("192.0.2.1", 9))  # sends nothing: it only chooses the way out
            return str(probe.getsockname()[0])
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


# Who may talk to the lab, how much and how fast.
#
# Another page in the same browser must not reach the lab: by its address (the Origin is checked), nor by
# a name it owns that it points to 127.0.0.1 (the Host is checked; "DNS rebinding"), nor inside a frame.
# On a network, a token in the link keeps others out. What the page may load is itself alone.

MAX_MESSAGE = 4 * 2**20  # bytes in one message
MAX_CONNECTIONS = 32  # websockets at a time
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
    address = _address(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


@dataclass(frozen=True)
class Guard:
    """The names under which the lab may be called, and its token if it needs one."""

    names: frozenset[str]
    token: str | None = None
    any_address: bool = False

    def knows_host(self, host: str) -> bool:
        """Whether a Host header names this lab (the port is free: it may be forwarded)."""
        name = _name(host)
        by_address = self.any_address and name is not None and _address(name) is not None
        return name in self.names or by_address

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
        own = f"http://{host}".lower(), f"https://{host}".lower()
        if origin is not None and origin.lower() not in own:
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


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _policy(host: str) -> str:
    """What the page may load. Some browsers do not count the websocket to 'self', so it is named."""
    sockets = f" ws://{host} wss://{host}" if _name(host) else ""
    return (
        f"default-src 'self'; img-src 'self' data: blob:; connect-src 'self'{sockets}; "
        "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


PAGE = Path(__file__).parent / "page"
TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
TOO_LARGE = f"A message must be at most {MAX_MESSAGE // 2**20} MiB. Send fewer rows or columns."
EXPOSED = (
    "Warning: --host {} lets other computers in. Whoever has the link can use this lab, and the "
    "connection is not encrypted. Leave out --host to keep it to this computer."
)


class Lab:
    """What one server holds: its workers, its connections and the state to open with."""

    def __init__(self, engine: str, start: dict[str, Any] | None, seconds: float) -> None:
        self.pool = Pool(engine, seconds)
        self.start = start
        self.connections = 0

    @asynccontextmanager
    async def lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        """Workers live as long as the server."""
        self.pool.open()
        try:
            yield
        finally:
            await self.pool.close()

    async def file(self, request: Request) -> Response:
        """One file of the page. It is asked for anew each time, and sent only if it has changed."""
        name = request.path_params.get("name") or "index.html"
        path = PAGE / name
        if name == "favicon.ico":
            return Response(status_code=204)
        if path.suffix not in TYPES or path.name != name or not path.is_file():
            return PlainTextResponse("There is no such file in the lab.\n", status_code=404)
        content = path.read_bytes()
        tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=TYPES[path.suffix], headers=headers)

    async def talk(self, websocket: WebSocket) -> None:
        """One connection, from its first message to its last."""
        if self.connections >= MAX_CONNECTIONS:
            response = PlainTextResponse(
                f"At most {MAX_CONNECTIONS} pages at a time.\n", status_code=503
            )
            return await websocket.send_denial_response(response)
        self.connections += 1

        async def send(text: str) -> None:
            with suppress(WebSocketDisconnect, RuntimeError):  # it is gone: nobody is left to tell
                await websocket.send_text(text)

        connection = self.pool.connect(send)
        throttle = Throttle()
        try:
            await websocket.accept()
            while (message := await websocket.receive())["type"] == "websocket.receive":
                await asyncio.sleep(throttle.wait())
                try:
                    request = _read(message)
                except MalformedError as error:
                    await send(to_json(failed(error.id, str(error))))
                    continue
                opens = request["ask"] == "hello" and self.start is not None
                finish = self._with_start if opens else None
                await self.pool.submit(
                    connection, Job(request["id"], channel_of(request), message["text"], finish)
                )
        finally:
            self.connections -= 1
            self.pool.leave(connection)
        return None

    def _with_start(self, text: str) -> str:
        """The answer to "hello", with the data the lab was opened with."""
        reply = json.loads(text)
        if "answer" in reply:
            reply["answer"]["start"] = self.start
        return to_json(reply)


def _read(message: Message) -> dict[str, Any]:
    """The request in a message of the websocket."""
    text = message.get("text")
    if text is None:
        raise MalformedError("A message must be text, not binary.")
    if len(text) > MAX_MESSAGE or len(text.encode()) > MAX_MESSAGE:
        raise MalformedError(TOO_LARGE, id_in(text))
    return parse_request(text)


def create_app(
    guard: Guard,
    *,
    start: dict[str, Any] | None = None,
    engine: str = ENGINE,
    seconds: float = SECONDS,
) -> ASGIApp:
    """The app behind its guard; ``engine`` names the module whose ``answer`` the workers call."""
    lab = Lab(engine, start, seconds)
    routes = [
        WebSocketRoute("/ws", lab.talk),
        Route("/", lab.file),
        Route("/{name}", lab.file),
    ]
    return Guarded(Starlette(routes=routes, lifespan=lab.lifespan), guard)


def serve(
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    open_browser: bool = True,
    start: dict[str, Any] | None = None,
    engine: str = ENGINE,
    seconds: float = SECONDS,
) -> int:
    """Serve until Ctrl-C; the link goes to standard output. Port 0 means any free one."""
    listener = listen(host, port)
    guard = guard_for(host)
    link = f"http://{address_for_link(host)}:{listener.getsockname()[1]}/"
    if guard.token is not None:
        link += f"?token={guard.token}"
        print(EXPOSED.format(host), file=sys.stderr, flush=True)
    print(link, flush=True)
    if open_browser:
        threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()
    config = uvicorn.Config(
        create_app(guard, start=start, engine=engine, seconds=seconds),
        loop="asyncio",
        ws="websockets-sansio",
        ws_max_size=4 * MAX_MESSAGE,  # up to here a message that is too large still gets a reply
        ws_per_message_deflate=False,
        limit_concurrency=256,
        timeout_graceful_shutdown=2,
        proxy_headers=False,
        server_header=False,
        access_log=False,
        log_level="critical",
    )
    with listener, suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])
    return 0
