"""Edits as sentences, for the history on a page and in a terminal."""

from fieldguide._languages import message, messages, say, say_count
from fieldguide.guide.edits.records import GUIDE, IMAGE, SPECIMEN, Edit, Target, read_word
from fieldguide.guide.naming import listed

_JUDGED = {
    "right": message("the key is right that %(what)s is “%(kind)s”"),
    "wrong": message("the key is wrong that %(what)s is “%(kind)s”"),
}
_MADE = {
    "kind": message("%(what)s is “%(value)s”"),
    "exclude": message("%(what)s is excluded"),
    "pin": message("%(what)s is pinned as an exemplar"),
    "reject": message("%(what)s is no exemplar"),
    "rename": message("%(what)s is called “%(value)s”"),
    "hide": message("%(what)s is hidden"),
    "merge": message("%(what)s is part of “%(value)s”"),
    "name": message("%(what)s is the kind “%(value)s”"),
    "note": message("note on %(what)s: %(value)s"),
}
_NAMED = {
    "kind": message("the kind “%(name)s”"),
    "branch": message("the branch “%(name)s”"),
    "word": message("the word “%(name)s”"),
}
_SHOW_IT = messages("%(n)s that show it", "%(n)s that show it")
_DO_NOT = messages("%(n)s that do not", "%(n)s that do not")


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
        return say("edit %(number)s is undone", number=str(edit.undoes))
    what, value = tell_target(edit.target), edit.value
    if edit.verb == "word":
        word, is_shown = read_word(edit.value)
        if is_shown:
            return say("%(what)s shows “%(word)s”", what=what, word=word)
        return say("%(what)s does not show “%(word)s”", what=what, word=word)
    if edit.verb in ("right", "wrong"):
        told = say(_JUDGED[edit.verb], what=what, kind=edit.said)
        return f"{told}: " + say("it is “%(value)s”", value=value) if value else told
    if edit.verb == "teach":
        sides = [say_count(*_SHOW_IT, len(edit.yes))] if edit.yes else []
        sides += [say_count(*_DO_NOT, len(edit.no))] if edit.no else []
        return say("%(what)s is taught by pictures: %(sides)s", what=what, sides=listed(sides))
    if edit.verb == "kind" and not edit.value:
        return say("%(what)s has no kind", what=what)
    return say(_MADE[edit.verb], what=what, value=value)


def tell_target(target: Target) -> str:
    """Return what an edit is about."""
    if target.form == GUIDE:
        return say("the guide")
    if target.form in (SPECIMEN, IMAGE):
        return target.name
    return say(_NAMED[target.form], name=target.name)
