"""The lab's server: the files of the page, and a websocket on which it asks.

Everything the page shows is computed by workers (see ``workers.py``); who may come in is decided in
``safety.py``.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import threading
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Message
from starlette.websockets import WebSocket, WebSocketDisconnect

from maxmargin.laboratory.listening import address_for_link, listen
from maxmargin.laboratory.messages import MalformedError, channel_of, failed, id_in, parsed, text_of
from maxmargin.laboratory.safety import CONNECTIONS, MESSAGE, Guard, Guarded, Throttle, guard_for
from maxmargin.laboratory.worker import ENGINE
from maxmargin.laboratory.workers import SECONDS, Job, Pool

__all__ = ["create_app", "serve"]

PAGE = Path(__file__).parent / "page"
TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
TOO_LARGE = f"A message must be at most {MESSAGE // 2**20} MiB. Send fewer rows or columns."
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
        if self.connections >= CONNECTIONS:
            response = PlainTextResponse(f"At most {CONNECTIONS} pages at a time.\n", status_code=503)
            return await websocket.send_denial_response(response)
        self.connections += 1

        async def send(text: str) -> None:
            with suppress(WebSocketDisconnect, RuntimeError):  # it is gone: nobody is left to tell
                await websocket.send_text(text)

        desk = self.pool.desk(send)
        throttle = Throttle()
        try:
            await websocket.accept()
            while (message := await websocket.receive())["type"] == "websocket.receive":
                await asyncio.sleep(throttle.wait())
                try:
                    request = _read(message)
                except MalformedError as error:
                    await send(text_of(failed(error.id, str(error))))
                    continue
                opens = request["ask"] == "hello" and self.start is not None
                finish = self._with_start if opens else None
                await self.pool.submit(
                    desk, Job(request["id"], channel_of(request), message["text"], finish)
                )
        finally:
            self.connections -= 1
            self.pool.leave(desk)
        return None

    def _with_start(self, text: str) -> str:
        """The answer to "hello", with the data the lab was opened with."""
        reply = json.loads(text)
        if "answer" in reply:
            reply["answer"]["start"] = self.start
        return text_of(reply)


def _read(message: Message) -> dict[str, Any]:
    """The request in a message of the websocket."""
    text = message.get("text")
    if text is None:
        raise MalformedError("A message must be text, not binary.")
    if len(text) > MESSAGE or len(text.encode()) > MESSAGE:
        raise MalformedError(TOO_LARGE, id_in(text))
    return parsed(text)


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
        ws_max_size=4 * MESSAGE,  # up to here a message that is too large still gets a reply
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
