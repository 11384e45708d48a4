"""What the tests of the command line ask of this chapter; see ``tests/cli/commands.py``."""

READERS = ()
WRITERS = {"look.csv": ("check", "GUIDE", "--csv")}
OWN = {"look.csv": b"path,problem,detail\nmine.jpg,dark,at night\n"}


def list_hostile_commands(folder, picture, kind, odd, target):
    return [
        ("check", folder),
        ("check", folder, "--json"),
        ("check", folder, "--csv", target / f"{odd}.csv"),
    ]
