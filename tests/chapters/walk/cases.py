"""What the tests of the command line ask of this chapter; see ``tests/cli/commands.py``."""

READERS = ()
WRITERS = {"key.txt": ("key", "GUIDE", "--print")}
OWN = {"key.txt": b"Keys to the shed: under the mat."}


def list_hostile_commands(folder, picture, kind, odd, target):
    return [
        ("key", folder),
        ("key", folder, "--json"),
        ("key", folder, "--answer", f"{odd}=yes"),
        ("key", folder, "--image", picture, "--json"),
        ("key", folder, "--image", odd),
        ("key", folder, "--print", target / f"{odd}.txt"),
    ]
