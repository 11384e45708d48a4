"""Programs on a real pseudo-terminal."""

import os
import struct
import subprocess
from collections.abc import Mapping, Sequence

import pytest


def run_on_terminal(
    command: Sequence[str], environment: Mapping[str, str], width: int = 100
) -> tuple[int, bytes]:
    """Run a program on a terminal of some columns; return its exit code and all it wrote."""
    pty = pytest.importorskip("pty")
    import fcntl
    import termios

    here, there = pty.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    own = {name: value for name, value in environment.items() if name != "COLUMNS"}
    with subprocess.Popen(command, stdin=there, stdout=there, stderr=there, env=own) as shown:
        os.close(there)
        told = b""
        while True:
            try:
                part = os.read(here, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            told += part
    os.close(here)
    return shown.returncode, told
