"""Words that the owner has renamed or hidden, in marks, couplets and walks."""

import shutil

import pytest
from PIL import Image

from fieldguide.guide import Guide


@pytest.fixture
def edited(guide, tmp_path):
    """A copy of a guide, to edit."""
    return Guide.open(shutil.copytree(guide.folder, tmp_path / "guide"))


def list_said(guide):
    """Return all that marks, couplets and questions say, by the kinds that they are said of."""
    found = {kind.name: [m.text for m in guide.marks(kind.name).marks] for kind in guide.kinds}
    found["characters"] = [character.text for character in guide.characters.characters]
    for couplet in guide.couplets:
        sides = guide.describe_couplet(couplet.number)
        found[couplet.number] = [word.name for side in sides for word in side.words]
    return found


def test_a_renamed_word_is_called_so_and_a_hidden_one_said_of_nothing(edited):
    before = list_said(edited)
    words = {word for word, n, _ in edited.words if n}
    by_use = sorted(words, key=lambda word: -sum(word in said for said in before.values()))
    word, other = by_use[:2]
    assert any(word in said for said in before.values())
    edited.edits.add("rename", f"word:{word}", "my own word")
    after = list_said(edited)
    assert after == {
        key: ["my own word" if text == word else text for text in said]
        for key, said in before.items()
    }
    kind = next(kind.name for kind in edited.kinds if word in before[kind.name])
    with Image.open(edited.folder / edited.specimen(edited.kind(kind).exemplars[0]).picture) as own:
        seen = edited.find_marks(own, kind)
    assert word not in [mark.text for mark in seen.marks]
    edited.edits.add("hide", f"word:{other}")
    assert not any(other in said for said in list_said(edited).values())
    for _ in range(2):
        edited.edits.undo()
    assert list_said(edited) == before
