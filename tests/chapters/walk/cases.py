"""What the tests of the command line ask of this chapter; see ``tests/cli/commands.py``."""

READERS = ()
WRITERS = {}
OWN = {}


def list_hostile_commands(folder, picture, kind, odd, target):
    return [
        ("key", folder),
        ("key", folder, "--json"),
        ("key", folder, "--answer", f"{odd}=yes"),
        ("key", folder, "--image", picture, "--json"),
        ("key", folder, "--image", odd),
    ]
