"""The command line in tests, and what its tests ask of the optional chapters.

Each chapter has ``tests/chapters/NAME/cases.py``::

    READERS     commands that take pictures: COMMAND GUIDE PICTURE --json
    WRITERS     commands that write a file, by a name for it, without the name of the file
    OWN         for each of those names, what a user may have in such a file
    list_hostile_commands(folder, picture, kind, odd, target)    words that hold control characters
"""

import subprocess
import sys
from importlib import import_module
from types import ModuleType

import typer
from typer.testing import CliRunner, Result

from fieldguide.chapters import OPTIONAL
from fieldguide.cli import app
from fieldguide.errors import FieldguideError

FIELDGUIDE = [sys.executable, "-m", "fieldguide"]


def run(*arguments, **options) -> subprocess.CompletedProcess:
    """Run the command line in a process of its own."""
    return subprocess.run(
        [*FIELDGUIDE, *map(str, arguments)], capture_output=True, text=True, check=False, **options
    )


def call(*arguments, **options) -> Result:
    """Run the command line in this process, which need not be started."""
    return CliRunner().invoke(app, [str(word) for word in arguments], **options)


def list_commands() -> list[str]:
    """Return the names of all commands, those of chapters last."""
    return list(typer.main.get_command(app).commands)


def load_cases() -> list[ModuleType]:
    """Return what the optional chapters add to the tests of the command line."""
    return [import_module(f"tests.chapters.{name}.cases") for name in OPTIONAL]


def check_refusal(arguments, message) -> None:
    """Check that a command fails with one line and code 2, and with a traceback for --debug."""
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.startswith("fieldguide: ")
    assert result.stderr.strip().count("\n") == 0
    assert isinstance(CliRunner().invoke(app, [*arguments, "--debug"]).exception, FieldguideError)
