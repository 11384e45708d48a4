"""What the tests of the command line ask of this chapter; see ``tests/cli/commands.py``."""

READERS = ("locate",)
WRITERS = {"found.json": ("locate", "GUIDE", "--out")}
OWN = {"found.json": b'{"images": [], "annotations": [{"bbox": [0, 0, 1, 1]}], "categories": []}'}


def list_hostile_commands(folder, picture, kind, odd, target):
    return [
        ("locate", folder, picture, "--out", target / f"{odd}.json"),
        ("locate", folder, picture, "--json"),
        ("locate", folder, "--kind", odd),
    ]
