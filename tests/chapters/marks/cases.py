"""What the tests of the command line ask of this chapter; see ``tests/cli/commands.py``."""

READERS = ()
WRITERS = {}
OWN = {}


def list_hostile_commands(folder, picture, kind, odd, target):
    return [
        ("marks", folder, kind),
        ("marks", folder, kind, "--json"),
        ("marks", folder, odd),
    ]
