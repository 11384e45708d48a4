"""What stands for Ctrl-C in the midst of long work."""


def interrupt_at(n, step=None):
    """A ``progress`` that interrupts when ``n`` are done: of one step, or of any."""

    def progress(name, done, total):
        if done >= n and step in (None, name):
            raise KeyboardInterrupt

    return progress
