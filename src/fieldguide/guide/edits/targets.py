"""From what a person writes to an edit: which specimen, branch, kind or word is meant.

``robin/07.jpg`` is a specimen where the verb is about specimens alone; ``branch:animal > bird``,
``kind:robin``, ``word:red`` and ``image:new.jpg`` say what they are. An edit that cannot be made
is refused in one sentence.
"""

import difflib
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fieldguide.collection import digest_of, read_file
from fieldguide.errors import EditError, FieldguideError, GuideError
from fieldguide.features import TAUGHT, stem_word
from fieldguide.guide.edits.hand import LEAST, Lesson, read_lesson
from fieldguide.guide.edits.records import (
    BRANCH,
    FORMS,
    GUIDE,
    IMAGE,
    KIND,
    SPECIMEN,
    VERBS,
    WORD,
    Edit,
    Target,
    check_edit,
    read_word,
)

if TYPE_CHECKING:
    from fieldguide.guide.edited import EditedCatalogue
    from fieldguide.guide.guide import Guide

_DIGEST = re.compile("[0-9a-f]{24}")


class Resolver:
    """Makes edits of one guide; ``catalogue`` is the guide's, as edited so far."""

    def __init__(self, guide: "Guide", catalogue: "EditedCatalogue") -> None:
        self._guide = guide
        self._catalogue = catalogue

    def make(
        self,
        verb: str,
        target: str | Target,
        value: str = "",
        said: str = "",
        yes: Sequence[str | Target] = (),
        no: Sequence[str | Target] = (),
    ) -> Edit:
        """Return an edit that can be made; EditError says why one cannot."""
        known = VERBS.get(verb)
        if known is None:
            raise EditError(f"There is no edit {verb!r}; there are {', '.join([*VERBS, 'undo'])}.")
        if isinstance(target, str):
            target = _read_target(target, verb)
        sides = [tuple(self._find_example(each) for each in side) for side in (yes, no)]
        drafted = check_edit(Edit(verb, target, value, said=said, yes=sides[0], no=sides[1]))
        try:
            return check_edit(self._check_value(self._find(drafted)))
        except EditError:
            raise
        except FieldguideError as error:  # of the guide, which says what it has
            raise EditError(str(error)) from None

    def _find(self, edit: Edit) -> Edit:
        target = edit.target
        assert target is not None
        if target.form == SPECIMEN:
            i = self._find_specimen(target)
            specimen = self._guide.specimen(i)
            found = Target(SPECIMEN, specimen.path, self._guide.digests[i])
            if edit.verb in ("right", "wrong") and not edit.said:
                if specimen.answer is None:
                    raise EditError(f"The key said nothing of {specimen.path!r} to mark.")
                edit = replace(edit, said=self.public_name(specimen.answer))
            return replace(edit, target=found)
        if target.form == BRANCH:
            index = self._catalogue.tree_index
            b = index.find(target) if target.specimens else self._guide.find_branch(target.name)
            if b is None:
                raise EditError(f"No branch of this guide is like {target.name!r}.")
            if b == 0 and edit.verb != "note":
                raise EditError(f"{edit.verb!r} is about a branch, not about the whole collection.")
            return replace(edit, target=index.describe(b, is_whole=edit.verb == "name"))
        if target.form == KIND:
            return replace(edit, target=Target(KIND, self._find_kind(target.name)))
        if edit.verb == "teach":
            return replace(edit, target=Target(WORD, self._find_taught(edit)))
        if target.form == WORD:
            return replace(edit, target=Target(WORD, self._find_word(target.name)))
        if target.form == IMAGE:
            return self._find_image(edit, target)
        return replace(edit, target=Target(GUIDE))

    def _find_example(self, given: str | Target) -> Target:
        target = Target(SPECIMEN, given.strip()) if isinstance(given, str) else given
        if target.form != SPECIMEN:
            raise EditError(f"A word is taught by specimens alone; got {plain_target(target)!r}.")
        i = self._find_specimen(target)
        path = self._guide.specimen(i).path
        if i in self._catalogue.hand.excluded:
            raise EditError(f"{path!r} is excluded and teaches nothing; undo that, or leave it.")
        return Target(SPECIMEN, path, self._guide.digests[i])

    def _find_taught(self, edit: Edit) -> str:
        """Return the word that an edit teaches: a new one, or one that was taught before."""
        assert edit.target is not None
        word, hand, overlay = edit.target.name, self._catalogue.hand, self._catalogue.overlay
        sources = self._catalogue.sources()
        names = [*sources, *(n for n in overlay.hidden_words if n in hand.lessons)]
        known = next((n for n in names if stem_word(n) == stem_word(word)), None)
        if known is not None and sources.get(known) != TAUGHT:
            told = "is hidden; undo that" if known not in sources else "is there already; teach"
            raise EditError(f"The word {known!r} {told}{' another' * (known in sources)}.")
        if known is None and word in hand.lessons:
            raise EditError(f"{word!r} is called {overlay.word(word)!r} by an earlier edit.")
        word = known or word
        lesson = hand.lessons.get(overlay.first_word(word), Lesson())
        lesson = lesson.add(read_lesson(edit, self._catalogue.specimen_index))
        for n, do in ((len(lesson.yes), "show"), (len(lesson.no), "do not show")):
            if n < LEAST:
                raise EditError(
                    f"To teach {word!r}, give at least {LEAST} pictures that {do} it, better ten; "
                    f"got {n}."
                )
        return word

    def _find_specimen(self, target: Target) -> int:
        found = self._catalogue.specimen_index.find(target)
        if found is not None:
            return found
        numbered = re.fullmatch(r"(?:specimen/)?(\d{1,9})(?:\.html)?", target.name)
        if numbered and int(numbered[1]) < self._guide.n_specimens:
            return int(numbered[1])
        paths = [path for path, *_ in self._catalogue.plain.register()]
        near = difflib.get_close_matches(target.name, paths, n=3, cutoff=0.6)
        hint = f" There is {', '.join(map(repr, near))}." if near else ""
        raise EditError(f"No specimen is called {target.name!r}; give its path or number.{hint}")

    def _find_kind(self, name: str) -> str:
        return self.public_name(self._guide.find_kind(name))

    def _find_word(self, name: str) -> str:
        """Return a word of the guide from how a person may write it."""
        words = [word for word, _, _ in self._guide.words]
        words += sorted(self._guide.overlay.hidden_words)
        if name in words:
            return name
        found = [word for word in words if word.casefold() == name.casefold()]
        if len(found) == 1:
            return found[0]
        near = difflib.get_close_matches(name, words, n=3, cutoff=0.5)
        hint = f" There is {', '.join(map(repr, near))}." if near else ""
        raise EditError(f"The guide has no word {name!r}.{hint}")

    def _find_image(self, edit: Edit, target: Target) -> Edit:
        """Return an edit about a new image, with what the key says of it."""
        if is_digest(target.digest) and edit.said:
            return edit
        try:
            content = read_file(Path(target.name))
        except FieldguideError as error:
            raise EditError(f"The image {target.name!r} cannot be read: {error}.") from None
        found = Target(IMAGE, os.path.basename(target.name), digest_of(content))
        said = edit.said
        if not said:
            kinds = self._guide.identify([content])[0].kinds
            if not kinds:
                raise EditError("This guide has no kinds, so it has named nothing to mark.")
            said = self.public_name(kinds[0].name)
        return replace(edit, target=found, said=said)

    def _check_value(self, edit: Edit) -> Edit:
        verb, value = edit.verb, edit.value
        form = edit.target.form if edit.target else ""
        if verb in ("kind", "name", "wrong") and value:
            return replace(edit, value=self._find_or_new(value))
        if verb == "merge":
            into = self._find_kind(value)
            if edit.target is not None and into == edit.target.name:
                raise EditError(f"{into!r} is one kind; give two to merge.")
            return replace(edit, value=into)
        if verb == "rename" and form == KIND:
            names = {self.public_name(kind.name) for kind in self._guide.kinds}
            if value in names | {kind.shown for kind in self._guide.kinds}:
                raise EditError(f"There is a kind {value!r} already; 'merge' makes two kinds one.")
        is_new_word = value not in {word for word, _, _ in self._guide.words}
        if verb == "rename" and form == WORD and not is_new_word:
            raise EditError(f"There is a word {value!r} already; give another name.")
        if verb == "word":
            word, is_shown = read_word(value)
            try:
                word = self._find_word(word)
            except EditError:
                if not is_shown:
                    raise
            return replace(edit, value=word if is_shown else f"not {word}")
        return edit

    def _find_or_new(self, name: str) -> str:
        """Return the name of a kind that there is, or of a new one."""
        known = self._known_kind(name)
        if known is not None:
            return known
        part_of = self._catalogue.hand.kind_names.get(name)
        if part_of is not None:
            raise EditError(
                f"{name!r} is {part_of!r} by an earlier edit; undo that, or give another name."
            )
        return name

    def _known_kind(self, name: str) -> str | None:
        try:
            return self._find_kind(name)
        except GuideError:
            return None

    def public_name(self, kind: str) -> str:
        """Return the name that a kind of the guide will have in the next build."""
        return self._catalogue.hand.kind_names.get(kind, kind)


def is_digest(text: str) -> bool:
    """Whether a text may be the digest of an image."""
    return _DIGEST.fullmatch(text) is not None


def _read_target(text: str, verb: str) -> Target:
    forms = VERBS[verb].forms
    form, colon, name = text.partition(":")
    if colon and form in FORMS:
        return Target(form, name.strip())
    if text == GUIDE and GUIDE in forms:
        return Target(GUIDE)
    if forms[0] in (SPECIMEN, *(f for f in forms if len(forms) == 1)):
        return Target(forms[0], text.strip())
    listed = " or ".join(f"{each}:{'…' if each != GUIDE else ''}".rstrip(":") for each in forms)
    raise EditError(f"Say what {verb!r} is about: {listed}; got {text!r}.")


def plain_target(target: Any) -> str:
    """Write a target as a person does: ``kind:robin``."""
    return GUIDE if target.form == GUIDE else f"{target.form}:{target.name}"


def point_at(guide: "Guide", given: str | os.PathLike[str] | int) -> str:
    """Return the path of the specimen that a path in the guide, a number or a file is.

    What is none of these comes back as it is, to be refused by name.
    """
    name = os.fspath(given) if isinstance(given, str | os.PathLike) else str(given)
    index = guide.edits.catalogue.specimen_index
    if index.find(Target(SPECIMEN, name)) is not None or not os.path.isfile(name):
        return name
    try:
        found = index.find_content(digest_of(read_file(Path(name))))
    except FieldguideError as error:
        raise EditError(f"The image {name!r} cannot be read: {error}.") from None
    if not found:
        raise EditError(
            f"The image {name!r} is not in this guide, so it teaches nothing; add it by "
            "'fieldguide add', or give a picture that is in it."
        )
    return guide.specimen(found[0]).path
