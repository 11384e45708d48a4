"""A dask scheduler and workers as processes of this machine, to be killed one by one."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

COMMAND = [sys.executable, "-m", "dask"]
QUIET = {"DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "critical"}


class Workers:
    """A scheduler at ``address``, and the workers that were started and not killed."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.env = os.environ | QUIET | settings
        self.folder = folder
        self.file = folder / "scheduler.json"
        self._all = [self._run("scheduler", "--port", "0", "--scheduler-file", self.file)]
        self.running: dict[str, subprocess.Popen] = {}
        wait_until(self.file.exists)
        self.address = self._ask(lambda client: client.scheduler.address)

    def start(self) -> str:
        """Start a worker of one thread; return its name. It joins when it is ready."""
        name = f"worker-{len(self._all)}"
        options = ("--no-nanny", "--nthreads", "1", "--name", name, "--local-directory")
        address = ("--scheduler-file", self.file)
        process = self._run("worker", *address, *options, self.folder / name)
        self._all.append(process)
        self.running[name] = process
        return name

    def wait(self) -> None:
        """Wait until all that were started and not killed have joined."""
        wait_until(lambda: self.list_joined() == set(self.running))

    def list_joined(self) -> set[str]:
        """Return the names of the workers that the scheduler knows."""

        def ask(client):
            return {each["name"] for each in client.scheduler_info(-1)["workers"].values()}

        return self._ask(ask)

    def freeze(self, name: str) -> None:
        """Let a worker do nothing from now on; it is still given work."""
        self.running[name].send_signal(signal.SIGSTOP)

    def kill(self, name: str) -> None:
        """Kill a worker at once."""
        process = self.running.pop(name)
        process.kill()
        process.wait()

    def stop(self) -> None:
        for process in reversed(self._all):
            if process.poll() is None:
                process.kill()
            process.wait()

    def _ask(self, question):
        from distributed import Client

        with Client(scheduler_file=str(self.file), timeout=20, set_as_default=False) as client:
            return question(client)

    def _run(self, what: str, *options) -> subprocess.Popen:
        with open(self.folder / "log", "a") as log:
            return subprocess.Popen(
                [*COMMAND, what, "--host", "127.0.0.1", "--no-dashboard", *map(str, options)],
                env=self.env,
                stdout=log,
                stderr=log,
            )


def wait_until(is_so, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)
