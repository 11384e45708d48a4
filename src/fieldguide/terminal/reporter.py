"""Progress of long work on the terminal; printed for the command line alone."""

import sys
from typing import Any

from fieldguide._display import printable
from fieldguide.terminal.console import say


class Reporter:
    """Progress: a bar on a terminal, a line per step in a log, nothing when quiet."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._step = ""
        self._tenth = -1
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> "Reporter":
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("{task.description:<20}"),
                BarColumn(),
                TextColumn("{task.fields[amount]}"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.start()
        return self

    def __exit__(self, *_: Any) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, step: str, done: int, total: int) -> None:
        """Show how far a step is."""
        if self._bar is not None:
            self._move_bar(step, done, total)
        elif not self._quiet:
            self._print_line(step, done, total)

    def _move_bar(self, step: str, done: int, total: int) -> None:
        is_counted = total > 1  # otherwise the bar only shows that something goes on
        amount = f"{done:,} of {total:,}" if is_counted else ""
        length = total if is_counted else None
        if step != self._step:
            self._step = step
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(printable(step), total=length, amount=amount)
        self._bar.update(self._task, completed=done, total=length, amount=amount)

    def _print_line(self, step: str, done: int, total: int) -> None:
        tenth = 10 * done // max(total, 1)
        if step != self._step:
            say(step if total == 1 else f"{step}: {done:,} of {total:,}", file=sys.stderr)
        elif tenth > self._tenth and total > 1:
            say(f"{step}: {done:,} of {total:,}", file=sys.stderr)
        self._step, self._tenth = step, tenth
