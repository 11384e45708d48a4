"""Connections that take their time: bounded in number, and dropped when they are slow.

Whoever opens a connection and says nothing, or a letter now and then, would hold it for ever, and
with some hundreds of them the whole server. Here

- a request must have been sent, up to the end of its headers, within ``HEADERS_S`` seconds;
- an answer must be taken: a reader that stands still for ``STILL_S`` seconds is dropped;
- there are at most ``MOST`` connections: for one more, the one goes that has waited longest without
  a request, and where each has one, the new one is told to come again.

The body of a request is timed where it is read: see ``uploads.py``.
"""

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 256
HEADERS_S = 10.0
STILL_S = 60.0
_BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 2\r\nconnection: close\r\n"
    b"content-type: text/plain; charset=utf-8\r\ncontent-length: 60\r\n\r\n"
    b"The guide has too many visitors; try again in two seconds. \n"
)


class TimedProtocol(H11Protocol):
    """HTTP on one connection, as uvicorn speaks it, with limits on its time and number."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._waiting_since = monotonic()
        self._waiting = _Timer()  # for a request
        self._still = _Timer()  # since the answer is not taken

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, if there is room for it."""
        super().connection_made(transport)
        self._watch_request()
        if len(self.connections) > MOST:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        """Read what came, and go on to wait while it is not yet a request."""
        super().data_received(data)
        self._watch_request()

    def on_response_complete(self) -> None:
        """Wait for the next request; one that says nothing is ended by ``timeout_keep_alive``."""
        super().on_response_complete()
        self._watch_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._waiting.stop()
        self._still.stop()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Give a reader who is slower than we are some time."""
        super().pause_writing()
        self._still.start(self.loop, STILL_S, self.transport.abort)

    def resume_writing(self) -> None:
        """The reader has gone on."""
        super().resume_writing()
        self._still.stop()

    @property
    def is_waiting(self) -> bool:
        """Whether no request is under way."""
        return self.cycle is None or self.cycle.response_complete

    def _watch_request(self) -> None:
        if not self.is_waiting:
            self._waiting.stop()
        elif self._waiting.start(self.loop, HEADERS_S, self._give_up):
            self._waiting_since = monotonic()

    def _give_up(self) -> None:
        self._waiting.stop()
        if self.is_waiting:
            self.transport.abort()

    def _make_room(self) -> None:
        idle = [
            other
            for other in self.connections
            if isinstance(other, TimedProtocol) and other.is_waiting and other is not self
        ]
        if idle:
            oldest = min(idle, key=lambda other: other._waiting_since)
            self.connections.discard(oldest)
            oldest.transport.abort()
        else:
            self.transport.write(_BUSY)
            self.transport.close()


class _Timer:
    """Does something after a while, unless it is stopped before."""

    def __init__(self) -> None:
        self._handle: asyncio.TimerHandle | None = None

    def start(
        self, loop: asyncio.AbstractEventLoop, seconds: float, act: Callable[[], Any]
    ) -> bool:
        """Begin to wait, unless it is waiting; return whether it was not."""
        is_new = self._handle is None
        if is_new:
            self._handle = loop.call_later(seconds, act)
        return is_new

    def stop(self) -> None:
        """Wait no longer."""
        if self._handle is not None:
            self._handle.cancel()
        self._handle = None
