"""How long each step of a build takes, by the names under which its progress is shown."""

import time

from fieldguide.guide.workspace import Progress


class StepClock:
    """Progress that is passed on, and timed.

    A step lasts until another one is named; one that is named again goes on.

    Examples
    --------
    >>> clock = StepClock(lambda step, done, total: None)
    >>> clock("reading images", 0, 2)
    >>> clock("done", 1, 1)
    >>> list(clock.stop())
    ['reading images', 'done']
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._seconds: dict[str, float] = {}
        self._step: str | None = None
        self._since = 0.0

    def __call__(self, step: str, done: int, total: int) -> None:
        """Note which step goes on, and show how far it is."""
        if step != self._step:
            self._end()
            self._step, self._since = step, time.monotonic()
            self._seconds.setdefault(step, 0.0)
        self._progress(step, done, total)

    def stop(self) -> dict[str, float]:
        """End the last step; return the seconds of each."""
        self._end()
        self._step = None
        return {step: round(seconds, 3) for step, seconds in self._seconds.items()}

    def _end(self) -> None:
        if self._step is not None:
            self._seconds[self._step] += time.monotonic() - self._since
