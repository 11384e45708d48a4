"""``fieldguide teach``."""

import json

from fieldguide.guide import Guide
from tests.cli.commands import call, check_refusal


def test_a_word_is_taught_and_found(folder):
    discs = [f"disc/{i:06d}.png" for i in range(5)]
    said = call("teach", folder, "round", "--yes", *discs, "--no", 8, 9, 10, 16, 17).stdout
    assert said.splitlines() == [
        "Edit 1: the word “round” is taught by pictures: 5 that show it and 5 that do not.",
        "Held out in turn, 5 of the 5 pictures that show it and 5 of the 5 that do not were told "
        "rightly: it is said of other pictures too.",
        f"{len(Guide.open(folder).members(word='round'))} specimens of 24 show “round”.",
    ]
    assert "disc/000006.png" in call("find", folder, "round").stdout
    # Each picture with an option of its own, and more of them
    plain = json.loads(call("teach", folder, "round", "--json", "--yes", 6, "--yes", 7).stdout)
    assert (plain["word"], plain["n_yes"], plain["holds"]) == ("round", 7, True)
    assert plain["edit"]["verb"] == "teach"
    call("edit", folder, "--undo", "1")
    assert Guide.open(folder).taught == {}  # one lesson is left, of two pictures that show it


def test_what_cannot_be_taught_is_one_line(folder):
    check_refusal(
        ["teach", str(folder), "round", "--yes", "0", "1"], "at least 2 pictures that do not"
    )
    check_refusal(["teach", str(folder), "round"], "Say which pictures show 'round'")
    check_refusal(
        ["teach", str(folder), "round", "--yes", "0", "no.png", "--no", "8", "9"],
        "No specimen is called 'no.png'",
    )
    assert Guide.open(folder).edits.history == ()
