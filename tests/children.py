"""Processes that a test starts to see them die, quicker than by a new Python for each.

They are forked from a server that has the package loaded and nothing else: no network is open in
it and no thread runs.
"""

import multiprocessing

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["fieldguide.guide", "fieldguide.guide.build"])


def run_in_child(action, *arguments) -> int:
    """Run a function; return 0, 1 where it raised, or minus the signal that ended it."""
    child = SERVER.Process(target=action, args=arguments)
    child.start()
    child.join()
    assert child.exitcode is not None
    return child.exitcode
