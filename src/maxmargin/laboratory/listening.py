"""Where the lab listens, and the address under which others find it."""

from __future__ import annotations

import errno
import socket
import sys
from contextlib import suppress

__all__ = ["address_for_link", "listen"]


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens, so that the link works as soon as it is printed."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise _refused(f"--host must be an address of this computer. Got {host!r} instead.") from error
    listener = socket.socket(family, kind, protocol)
    try:
        if sys.platform != "win32":  # there it would let two servers share a port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise _refused(
                f"Port {port} of {host} is taken. Choose another with --port; --port 0 finds a free one."
            ) from error
        raise _refused(f"The lab cannot listen on {host}, port {port}: {error.strerror}.") from error
    return listener


def address_for_link(host: str) -> str:
    """The address for the link: of this computer on its network if the lab listens everywhere."""
    if host in ("0.0.0.0", "::"):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, suppress(OSError):
            probe.connect(("192.0.2.1", 9))  # sends nothing: it only chooses the way out
            return str(probe.getsockname()[0])
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def _refused(sentence: str) -> Exception:
    from maxmargin.core.errors import InputError  # on use: it brings scikit-learn along

    return InputError(sentence)
