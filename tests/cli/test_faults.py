"""Everyday faults are one sentence and code 2; the traceback comes with --debug."""

import errno
import sqlite3

import pytest
from safetensors import SafetensorError
from typer.testing import CliRunner

from fieldguide.cli import app
from fieldguide.guide import Guide

FULL = "There is no room left on the disk; free some and run the same command again."


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), FULL),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), FULL),
        (OSError("17 requested and 4 written"), FULL),
        (sqlite3.OperationalError("database or disk is full"), FULL),
        (SafetensorError("I/O error: No space left on device (os error 28)"), FULL),
        (sqlite3.DatabaseError("database disk image is malformed"), "(database disk image is malf"),
        (SafetensorError("header too large"), "(header too large)"),
        (UnicodeEncodeError("utf-8", "caf\udce9.jpg", 3, 4, "surrogates"), r"near 'caf\udce9.jpg'"),
        (UnicodeDecodeError("utf-8", b"a\xe9b", 1, 2, "invalid"), r"near b'a\xe9b'"),
        (UnicodeError("label empty or too long"), "(label empty or too long)"),
        (PermissionError(errno.EACCES, "Permission denied", "x\x1b"), "Permission denied: 'x"),
        (MemoryError(), "There is not enough memory"),
    ],
)
def test_one_sentence(monkeypatch, error, sentence):
    def fail(folder):
        raise error

    monkeypatch.setattr(Guide, "open", fail)
    result = CliRunner().invoke(app, ["describe", "guide"])
    assert result.exit_code == 2, result.exception
    assert result.stderr.startswith("fieldguide: ")
    assert result.stderr.count("\n") == 1
    assert sentence in result.stderr
    assert CliRunner().invoke(app, ["describe", "guide", "--debug"]).exception is error


def test_an_error_of_our_own_making_is_not_hidden(monkeypatch):
    def fail(folder):
        raise KeyError("words")

    monkeypatch.setattr(Guide, "open", fail)
    assert isinstance(CliRunner().invoke(app, ["describe", "guide"]).exception, KeyError)
