"""The HTTP server: uvicorn with our protocol (`protocol.py`), and without a log of addresses."""

from __future__ import annotations

import errno
import gc
import logging
import socket
import sys
from typing import Any

import uvicorn

from localdp.collector.app import create_app
from localdp.collector.protocol import protocol
from localdp.collector.service import Service
from localdp.errors import InvalidInputError

_SWITCH = 0.0005  # seconds after which a thread lets another one run: the writer must not wait for a busy event loop
_SEND_BUFFER = 1 << 17  # bytes that the system holds for a connection, about
_GARBAGE = (
    20_000  # new objects after which Python looks for garbage; with its usual 700 it looks at every tenth request
)


def config(service: Service, **options: Any) -> uvicorn.Config:
    """How uvicorn runs the collector. It logs no requests, because its log would hold addresses."""
    settings = service.settings
    return uvicorn.Config(
        create_app(service),
        http=protocol(settings.request_time, settings.most_connections, service.metrics),
        ws="none",
        lifespan="on",
        access_log=False,
        server_header=False,
        proxy_headers=settings.rate > 0,  # only the rate looks at addresses
        timeout_keep_alive=30,
        timeout_graceful_shutdown=30,
        log_config=None,
        **options,
    )


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens at this address; an error that says so if it cannot."""
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, number)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Otherwise the system takes some MB for each connection whose other end does not read.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
        listening.bind(address)
        listening.listen(2048)
    except (OSError, OverflowError) as error:
        taken = "; choose another with --port" if isinstance(error, OSError) and error.errno == errno.EADDRINUSE else ""
        raise InvalidInputError(f"cannot listen at {host} port {port}: {error}{taken}") from error
    return listening


def run(service: Service, listening: socket.socket) -> None:
    """Serve until the process is told to stop; then everything that was taken is stored."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    # Warnings of uvicorn are about malformed requests, and anybody could fill the log with them. /metrics counts them.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    sys.setswitchinterval(_SWITCH)
    gc.freeze()  # what was imported stays, and need not be looked through again and again
    gc.set_threshold(_GARBAGE, 20, 20)
    uvicorn.Server(config(service)).run(sockets=[listening])
