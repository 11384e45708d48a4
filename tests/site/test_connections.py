"""Slow, idle and numerous connections: they are dropped, and nobody else waits for them."""

import errno
import os
import socket
import tempfile
import threading
import time
from contextlib import contextmanager

import httpx2
import pytest
from benchmarks.load import run_load
from tests.site.browsing import serve_guide
from tests.site.test_server import png

from fieldguide.site import connections, server, uploads
from fieldguide.site.guard import warn_of_host


@contextmanager
def served(guide, **settings):
    serving = serve_guide(guide, **settings)
    base = next(serving)
    host, port = base.removeprefix("http://").split(":")
    try:
        yield base, (host, int(port))
    finally:
        next(serving, None)


def is_dropped(connection: socket.socket, within: float = 5.0) -> bool:
    """Whether the server ends a connection."""
    connection.settimeout(within)
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


HEADERS = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@pytest.mark.parametrize("sent", [b"", b"GET / HT", HEADERS, HEADERS + b"\r\nGET / HT"])
def test_a_request_that_is_not_sent_is_not_waited_for(bare_guide, monkeypatch, sent):
    monkeypatch.setattr(connections, "HEADERS_S", 0.3)
    with served(bare_guide) as (_, address), socket.create_connection(address) as slow:
        slow.sendall(sent)
        if sent.endswith(b"GET / HT") and sent != b"GET / HT":
            slow.settimeout(5)
            answer = b""
            while not answer.endswith(b'{"status":"ok"}'):  # of the first
                answer += slow.recv(4096)
        started = time.monotonic()
        assert is_dropped(slow)
        assert time.monotonic() - started < 4


def test_a_letter_now_and_then_does_not_help(bare_guide, monkeypatch):
    monkeypatch.setattr(connections, "HEADERS_S", 0.5)
    with served(bare_guide) as (_, address), socket.create_connection(address) as slow:
        slow.settimeout(5)
        was_dropped = False
        for letter in HEADERS * 20:
            try:
                slow.sendall(bytes([letter]))
            except ConnectionError:
                was_dropped = True
                break
            time.sleep(0.05)
        assert was_dropped


def test_idle_connections_make_room_for_others(bare_guide, monkeypatch):
    monkeypatch.setattr(connections, "MOST", 8)
    with served(bare_guide) as (base, address):
        idle = [socket.create_connection(address) for _ in range(30)]
        for _ in range(5):
            assert httpx2.get(f"{base}/healthz").status_code == 200
        dropped = sum(is_dropped(connection, 0.05) for connection in idle)
        assert dropped >= 22
        for connection in idle:
            connection.close()


def test_one_connection_too_many_is_told_to_come_again(make_stand_in, monkeypatch):
    monkeypatch.setattr(connections, "MOST", 2)
    guide = make_stand_in([("k", (), (32, 24), "a.jpg")])
    begun, go_on, ready = threading.Semaphore(0), threading.Event(), guide.identify

    def identify(images):
        begun.release()
        go_on.wait(5)
        return ready(images)

    guide.identify = identify
    with served(guide) as (base, _):
        asked = []
        for _ in range(2):
            thread = threading.Thread(
                target=lambda: asked.append(
                    httpx2.post(f"{base}/api/identify", files={"image": png()}).status_code
                )
            )
            thread.start()
            begun.acquire(timeout=5)
        refused = httpx2.get(f"{base}/healthz")
        assert refused.status_code == 503
        assert refused.headers["retry-after"] == "2"
        assert "try again in two seconds" in refused.text
        go_on.set()
        for _ in range(100):
            if len(asked) == 2:
                break
            time.sleep(0.05)
        assert asked == [200, 200]


def test_a_body_that_does_not_come_is_given_up_and_blocks_nobody(bare_guide, monkeypatch):
    monkeypatch.setattr(uploads, "STILL_S", 0.3)
    head = (
        b"POST /api/identify HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5000\r\n"
        b"Content-Type: multipart/form-data; boundary=x\r\n\r\n--x\r\n"
    )
    with served(bare_guide) as (base, address), socket.create_connection(address) as slow:
        slow.sendall(head)
        assert httpx2.post(f"{base}/api/identify", files={"image": png()}).status_code == 200
        slow.settimeout(5)
        answer = slow.recv(4096)
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"That upload came too slowly; try again." in answer + slow.recv(4096)
        assert is_dropped(slow)


def test_a_body_that_never_ends_is_given_up(bare_guide, monkeypatch):
    monkeypatch.setattr(uploads, "BODY_S", 0.4)
    head = (
        b"POST /api/identify HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 500000\r\n"
        b"Content-Type: multipart/form-data; boundary=x\r\n\r\n--x\r\n"
    )
    with served(bare_guide) as (_, address), socket.create_connection(address) as slow:
        slow.sendall(head)
        slow.settimeout(0.02)
        started, answer = time.monotonic(), b""
        while time.monotonic() - started < 5 and not answer:
            try:
                slow.sendall(b"x")
                answer = slow.recv(4096)
            except TimeoutError:
                continue
        assert answer.startswith(b"HTTP/1.1 408")


def test_uploads_of_all_together_are_bounded(bare_guide, monkeypatch):
    """The finding: 256 slow senders of 32 MB each could fill the disk of temporary files."""
    monkeypatch.setattr(uploads, "HELD", 1)
    head = (
        b"POST /api/identify HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 60000\r\n"
        b"Content-Type: multipart/form-data; boundary=x\r\n\r\n--x\r\n"
        b'Content-Disposition: form-data; name="image"; filename="a.png"\r\n\r\n'
    )
    large = {"image": png() + bytes(60_000)}
    with served(bare_guide, max_upload_mb=0.1) as (base, address):
        with socket.create_connection(address) as slow:
            slow.sendall(head + bytes(50_000))
            for _ in range(100):
                answer = httpx2.post(f"{base}/api/identify", files=large)
                if answer.status_code == 503:  # the slow one has come in by now
                    break
                time.sleep(0.05)
            assert answer.status_code == 503
            assert answer.headers["Retry-After"] == "10"
            assert "no room for that picture at the moment" in answer.text
            small = {"image": png()}
            assert httpx2.post(f"{base}/api/identify", files=small).status_code == 200
        for _ in range(100):
            if httpx2.post(f"{base}/api/identify", files=large).status_code == 200:
                break
            time.sleep(0.05)
        assert httpx2.post(f"{base}/api/identify", files=large).status_code == 200


def test_an_upload_that_finds_the_disk_full_is_told_to_come_again(bare_guide, monkeypatch):
    def fail(self):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile.SpooledTemporaryFile, "rollover", fail)
    with served(bare_guide) as (base, _):
        large = {"image": png() + bytes(3 * 2**20)}
        answer = httpx2.post(f"{base}/api/identify", files=large)
        assert answer.status_code == 503
        assert "no room for that picture at the moment" in answer.text
        assert httpx2.post(f"{base}/api/identify", files={"image": png()}).status_code == 200


def test_a_reader_who_stands_still_is_dropped(make_stand_in, monkeypatch):
    monkeypatch.setattr(connections, "STILL_S", 0.3)
    guide = make_stand_in([("k", (), (32, 24), f"{i}.jpg") for i in range(3)])
    big = guide.folder / guide.specimen(0).thumbnail
    big.write_bytes(bytes(30_000_000))
    request = f"GET /{guide.specimen(0).thumbnail} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with served(guide) as (_, address), socket.socket() as still:
        still.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        still.connect(address)
        still.sendall(request.encode())
        time.sleep(1.5)
        still.settimeout(5)
        got = 0
        try:
            while part := still.recv(1 << 20):
                got += len(part)
        except ConnectionError:
            pass
        assert got < 30_000_000


def test_how_long_to_wait_follows_how_long_answers_take(bare_guide):
    site = server._Site(bare_guide, 1, None, None)
    site._n_asked, site._mean_s = 34, 0.15
    said = site._turn_away()
    assert said.headers == {"Retry-After": "3"}
    assert said.detail == "The guide is busy; try again in 3 seconds."
    site._mean_s = 100.0
    assert site._turn_away().headers == {"Retry-After": "60"}
    site._mean_s = 0.0
    assert site._turn_away().detail == "The guide is busy; try again in 1 second."


def test_a_host_that_others_reach_is_told_of():
    for own in ("127.0.0.1", "localhost", "::1", "127.0.0.9"):
        assert warn_of_host(own) == ""
    for open_to_all in ("0.0.0.0", "192.168.1.5", "::", "my-laptop"):
        assert "can read the guide" in warn_of_host(open_to_all)


def test_many_clients_are_answered(guide):
    """The tiny form of ``benchmarks/load.py``, which has the figures."""
    with served(guide) as (_, (host, port)):
        seen = run_load(host, port, clients=4, seconds=3, process=os.getpid(), nuisances=2)
    assert seen.errors == []
    assert seen.n_broken
    assert sum(map(len, seen.seconds.values())) > 10
    assert "p99 s" in str(seen)
