"""Ask a served guide with many clients at once, pages and uploads mixed.

    python benchmarks/load.py GUIDE [--clients 50] [--nuisances 10] [--seconds 60]

Nuisances send uploads that break off, come a letter at a time, or are no pictures. Prints how many
requests there were, how long they took, how many pictures were told to come again and were then
answered, and how much memory the server took over time. Ends with 1 where a request failed:
anything but an answer, or a 503 that says how long to wait.
"""

import argparse
import http.client
import io
import random
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image

N_PICTURES = 20
SHARES = {"page": 0.75, "picture": 0.15, "upload": 0.1}  # of the requests
_START = b'--x\r\nContent-Disposition: form-data; name="image"; filename="a.jpg"\r\n\r\n'
_END = b"\r\n--x--\r\n"
PATIENCE_S = 120.0  # of a client whose picture is told to come again


@dataclass
class Seen:
    """What the clients have seen. Threads share it."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in SHARES})
    n_told_to_wait: int = 0
    n_broken: int = 0  # uploads of nuisances
    errors: list[str] = field(default_factory=list)
    memory_mb: list[float] = field(default_factory=list)  # once a second

    def __str__(self) -> str:
        lines = ["| request | answered | median s | p99 s |", "|---|---|---|---|"]
        for name, taken in self.seconds.items():
            if taken:
                median, late = np.percentile(taken, [50, 99])
                lines.append(f"| {name} | {len(taken):,} | {median:.3f} | {late:.3f} |")
        said = f"{self.n_told_to_wait:,} pictures were told how long to wait, and came again"
        if self.n_broken:
            said += f"; {self.n_broken:,} uploads were broken, slow or noise"
        lines += ["", f"{said}; {len(self.errors):,} errors."]
        lines += sorted(set(self.errors))[:10]
        if self.memory_mb:
            told = (len(self.memory_mb) * k // 4 for k in range(4))
            parts = [f"{self.memory_mb[i]:.0f}" for i in (*told, -1)]
            lines.append(
                f"Memory of the server, MB: {' → '.join(parts)}; peak {max(self.memory_mb):.0f}."
            )
        return "\n".join(lines)


def run_load(
    host: str, port: int, clients: int, seconds: float, process: int | None, nuisances: int = 0
) -> Seen:
    """Let some clients ask for a while; ``process`` is the server's, whose memory is watched."""
    seen, end = Seen(), time.monotonic() + seconds
    pages, pictures = find_addresses(host, port)
    uploads = draw_pictures()
    threads = [
        threading.Thread(
            target=_be_client, args=(n, host, port, pages, pictures, uploads, end, seen)
        )
        for n in range(clients)
    ]
    threads += [
        threading.Thread(target=_be_nuisance, args=(n, host, port, uploads, end, seen))
        for n in range(nuisances)
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        if process is not None:
            seen.memory_mb.append(read_memory(process))
        time.sleep(min(1.0, seconds / 4))
    return seen


def _be_client(
    number: int,
    host: str,
    port: int,
    pages: list[str],
    pictures: list[str],
    uploads: list[bytes],
    end: float,
    seen: Seen,
) -> None:
    rng = random.Random(number)
    connection = http.client.HTTPConnection(host, port, timeout=PATIENCE_S)

    def ask(name: str) -> None:
        if name == "upload":
            _upload(connection, rng.choice(uploads), seen)
            return
        connection.request("GET", f"/{rng.choice(pages if name == 'page' else pictures)}")
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            seen.errors.append(f"{name}: {answer.status}")

    while time.monotonic() < end:
        (name,) = rng.choices(list(SHARES), SHARES.values())
        if name == "picture" and not pictures:
            continue
        started = time.perf_counter()
        try:
            ask(name)
            seen.seconds[name].append(time.perf_counter() - started)
        except (OSError, http.client.HTTPException) as error:
            if not _was_idle(error):
                seen.errors.append(f"{name}: {type(error).__name__} {error}")
            connection.close()  # it is opened again by the next request
    connection.close()


def _be_nuisance(
    number: int, host: str, port: int, uploads: list[bytes], end: float, seen: Seen
) -> None:
    """Send uploads that are broken off, slow, or no pictures; the server may drop each."""
    rng = random.Random(number)
    while time.monotonic() < end:
        body = _START + rng.choice(uploads) + _END
        head = (
            f"POST /api/identify HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n"
            "Content-Type: multipart/form-data; boundary=x\r\n\r\n"
        ).encode()
        way = rng.choice(("breaks off", "slow", "noise"))
        try:
            with socket.create_connection((host, port), timeout=PATIENCE_S) as connection:
                if way == "noise":
                    noise = rng.randbytes(len(body) - len(_START) - len(_END))
                    connection.sendall(head + _START + noise + _END)
                    connection.recv(4096)
                elif way == "breaks off":
                    connection.sendall(head + body[: len(body) // 2])
                else:
                    connection.sendall(head)
                    for k in range(10):
                        connection.sendall(body[k : k + 1])
                        time.sleep(min(1.0, max(end - time.monotonic(), 0.0)))
        except OSError:
            pass  # it was dropped
        seen.n_broken += 1
        time.sleep(0.2)


def _was_idle(error: Exception) -> bool:
    """Whether a kept connection had been ended before the request: any client then asks again."""
    return isinstance(error, http.client.RemoteDisconnected)


def _upload(connection: http.client.HTTPConnection, data: bytes, seen: Seen) -> None:
    body = _START + data + _END
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    end = time.monotonic() + PATIENCE_S
    while True:
        connection.request("POST", "/api/identify", body, headers)
        answer = connection.getresponse()
        answer.read()
        wait = answer.headers.get("Retry-After", "")
        if answer.status == 503 and wait.isdecimal() and time.monotonic() < end:
            seen.n_told_to_wait += 1
            connection.close()  # the server does not keep it as long
            time.sleep(int(wait) * random.uniform(1.0, 1.5))
            continue
        if answer.status != 200:
            seen.errors.append(f"upload: {answer.status}")
        return


def find_addresses(host: str, port: int) -> tuple[list[str], list[str]]:
    """Return some pages of a guide and the pictures on them."""
    found: dict[str, None] = {"index.html": None}
    pictures: dict[str, None] = {}
    connection = http.client.HTTPConnection(host, port, timeout=PATIENCE_S)
    for page in ("index.html", "kinds.html", "search.html", "about.html"):
        connection.request("GET", f"/{page}")
        text = connection.getresponse().read().decode()
        links = re.findall(r'(?:href|src)="([^"#?:]+)"', text)
        found |= dict.fromkeys(link for link in links if link.endswith(".html"))
        pictures |= dict.fromkeys(link for link in links if link.startswith("pictures/"))
    connection.close()
    return list(found), list(pictures)


def draw_pictures() -> list[bytes]:
    """Return pictures to upload."""
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(N_PICTURES):
        coarse = Image.fromarray(rng.integers(0, 256, (8, 10, 3), dtype=np.uint8))
        out = io.BytesIO()
        coarse.resize((1000, 800), Image.Resampling.BICUBIC).save(out, "JPEG", quality=88)
        drawn.append(out.getvalue())
    return drawn


def read_memory(process: int) -> float:
    """Return the resident memory of a process, in MB."""
    try:
        text = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0.0
    found = re.search(r"VmRSS:\s+(\d+) kB", text)
    return int(found[1]) / 1024 if found else 0.0


@contextmanager
def serve_apart(guide: Path) -> Iterator[tuple[str, int, int]]:
    """Serve a guide in a process of its own; give host, port and process."""
    command = [sys.executable, "-m", "fieldguide", "serve", str(guide), "--port", "0"]
    with subprocess.Popen(
        [*command, "--no-browser"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        assert server.stdout is not None
        lines = []
        for line in server.stdout:
            lines.append(line)
            if address := re.search(r"http://([\d.]+):(\d+)/", line):
                break
        else:
            raise SystemExit("".join(lines))
        drain: Callable[[], object] = server.stdout.read
        threading.Thread(target=drain, daemon=True).start()
        try:
            yield address[1], int(address[2]), server.pid
        finally:
            server.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("guide", type=Path)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--nuisances", type=int, default=10, help="clients with bad uploads")
    parser.add_argument("--seconds", type=float, default=60.0)
    asked = parser.parse_args()
    with serve_apart(asked.guide) as (host, port, process):
        seen = run_load(host, port, asked.clients, asked.seconds, process, asked.nuisances)
    print(f"{asked.clients} clients, {asked.seconds:g} s.\n\n{seen}")
    sys.exit(bool(seen.errors))


if __name__ == "__main__":
    main()
