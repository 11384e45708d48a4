"""Edits as sentences, for the history on a page and in a terminal."""

from fieldguide.guide.edits.records import GUIDE, IMAGE, SPECIMEN, Edit, Target, read_word


def tell_edit(edit: Edit) -> str:
    """Return what an edit says, without its number and its time.

    Examples
    --------
    >>> tell_edit(Edit("kind", Target("specimen", "robin/07.jpg"), "wren"))
    'robin/07.jpg is “wren”'
    >>> tell_edit(Edit("rename", Target("branch", "animal › bird"), "birds of the garden"))
    'the branch “animal › bird” is called “birds of the garden”'
    """
    if edit.target is None:
        return f"edit {edit.undoes} is undone"
    what, value = tell_target(edit.target), f"“{edit.value}”"
    if edit.verb == "word":
        word, is_shown = read_word(edit.value)
        return f"{what} {'shows' if is_shown else 'does not show'} “{word}”"
    if edit.verb in ("right", "wrong"):
        told = f"the key is {edit.verb} that {what} is “{edit.said}”"
        return f"{told}: it is {value}" if edit.value else told
    if edit.verb == "teach":
        sides = [f"{len(edit.yes):,} that show it"] if edit.yes else []
        sides += [f"{len(edit.no):,} that do not"] if edit.no else []
        return f"{what} is taught by pictures: {' and '.join(sides)}"
    if edit.verb == "kind" and not edit.value:
        return f"{what} has no kind"
    return {
        "kind": f"{what} is {value}",
        "exclude": f"{what} is excluded",
        "pin": f"{what} is pinned as an exemplar",
        "reject": f"{what} is no exemplar",
        "rename": f"{what} is called {value}",
        "hide": f"{what} is hidden",
        "merge": f"{what} is part of {value}",
        "name": f"{what} is the kind {value}",
        "note": f"note on {what}: {edit.value}",
    }[edit.verb]


def tell_target(target: Target) -> str:
    """Return what an edit is about."""
    if target.form == GUIDE:
        return "the guide"
    return target.name if target.form in (SPECIMEN, IMAGE) else f"the {target.form} “{target.name}”"
