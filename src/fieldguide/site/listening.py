"""The socket that a server listens on: the port that was asked for, or a free one."""

import os
import socket

from fieldguide.errors import FieldguideError

FIRST_PORT = 8000
N_PORTS = 20  # ports tried from the first one when none is asked for


def listen(host: str, port: int | None) -> socket.socket:
    """Open the socket; None takes the first free port, 0 any free one."""
    candidates = range(FIRST_PORT, FIRST_PORT + N_PORTS) if port is None else [port]
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in candidates:
        listening = socket.socket(family, socket.SOCK_STREAM)
        if os.name == "posix":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, candidate))
            listening.listen(128)
        except (OSError, OverflowError, UnicodeError) as error:
            listening.close()
            reason = error
        else:
            return listening
    if port is None:
        raise FieldguideError(
            f"No port from {FIRST_PORT} to {FIRST_PORT + N_PORTS - 1} is free on {host}; "
            "name another, or 0 for any free one."
        )
    why = getattr(reason, "strerror", None) or str(reason)
    raise FieldguideError(
        f"Port {port} on {host} cannot be used ({why}); name another, or 0 for any free one."
    )
