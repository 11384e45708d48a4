"""``guide.edits``: what its owner has edited, and how to edit more."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fieldguide.errors import EditError
from fieldguide.guide.edits.log import EditLog, Reading
from fieldguide.guide.edits.records import IMAGE, UNDO, Edit, Target, check_edit, needs_build
from fieldguide.guide.edits.tables import read_edits, write_edits
from fieldguide.guide.edits.targets import Resolver

if TYPE_CHECKING:
    from fieldguide.guide.edited import EditedCatalogue
    from fieldguide.guide.guide import Guide


class Edits:
    """The edits of a guide. Every edit goes to the log at once, and the guide shows it at once.

    Parameters
    ----------
    guide : Guide
    log : EditLog
        The file.
    reading : Reading
        What the log holds.

    Attributes
    ----------
    history : tuple of Edit
        Every edit that was ever made, also those that were undone.
    faults : tuple of str
        A sentence for each line of the log that cannot be read, and so has no effect.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from fieldguide import Collection, Guide
    >>> greys = [np.full((48, 48, 3), v, dtype=np.uint8) for v in (10, 20, 30, 220, 230, 240)]
    >>> with tempfile.TemporaryDirectory() as out:
    ...     guide = Guide.build(Collection.from_arrays(greys, list("dddlll")), out)
    ...     edit = guide.edits.add("rename", "kind:d", "dark")
    ...     print([kind.shown for kind in guide.kinds], edit.number)
    ...     edit = guide.edits.undo()
    ...     print([kind.shown for kind in guide.kinds], edit.undoes)
    ['dark', 'l'] 1
    ['d', 'l'] 1
    """

    def __init__(self, guide: "Guide", log: EditLog, reading: Reading) -> None:
        self._guide = guide
        self._log = log
        self._reading = reading
        self.history = reading.edits
        self.faults = reading.faults

    def __iter__(self) -> Iterator[Edit]:
        """Go through the edits that hold, in their order."""
        return iter(self._reading.active)

    def __len__(self) -> int:
        return len(self._reading.active)

    @property
    def undone(self) -> frozenset[int]:
        """The numbers of the edits that are undone."""
        return self._reading.undone

    @property
    def waiting(self) -> tuple[Edit, ...]:
        """The edits since the last build, and undoings, that the next build does more about."""
        built = self._guide.about.get("edits", 0)
        of = {edit.number: edit for edit in self.history}
        found = []
        for edit in self.history:
            if edit.number <= built or edit.number in self.undone:
                continue
            if edit.verb != UNDO:
                found += [edit] if needs_build(edit) else []
            elif (undone := of.get(edit.undoes or 0)) is not None and undone.verb != UNDO:
                found += [edit] if undone.number <= built and needs_build(undone) else []
        return tuple(found)

    def add(
        self,
        verb: str,
        target: str | Target = "guide",
        value: str = "",
        *,
        note: str = "",
        said: str = "",
        yes: Sequence[str | Target] = (),
        no: Sequence[str | Target] = (),
    ) -> Edit:
        """Make an edit; EditError, in one sentence, where it cannot be made.

        Parameters
        ----------
        verb : str
            What to do: kind, word, exclude, pin, reject, right, wrong, rename, hide, merge, name,
            teach or note; ``docs/edits.md`` has what each is about.
        target : str
            Path or number of a specimen; else "branch:animal > bird", "kind:robin", "word:red",
            "image:new.jpg" or "guide".
        value : str
            The kind, word, name or text.
        note : str
            Why.
        said : str
            Of right and wrong: the kind that the key named; by default what it says now.
        yes, no : sequences of str
            Of teach: specimens that show the word, and that do not.
        """
        given: dict[str, Any] = {"note": note, "said": said, "yes": yes, "no": no}
        return self.add_all([self.draft(verb, target, value, **given)])[0]

    def draft(
        self,
        verb: str,
        target: str | Target,
        value: str = "",
        *,
        note: str = "",
        said: str = "",
        yes: Sequence[str | Target] = (),
        no: Sequence[str | Target] = (),
    ) -> Edit:
        """Return an edit that can be made, without making it."""
        edit = self._resolver.make(verb, target, value, said, yes, no)
        return check_edit(replace(edit, note=note))

    def add_all(self, edits: Sequence[Edit]) -> list[Edit]:
        """Write edits to the log, all or none, and show them."""
        written = self.write(edits)
        self._guide.refresh()
        return written

    def write(self, edits: Sequence[Edit]) -> list[Edit]:
        """Write edits to the log, all or none; this guide, which threads may share, stays as it is
        until it is opened again."""
        return self._log.append(edits)

    def undo(self, number: int | None = None) -> Edit:
        """Undo an edit, by default the last that holds; an undo can be undone by its number."""
        if number is None:
            active = self._log.read().active
            if not active:
                raise EditError("There is no edit to undo.")
            number = active[-1].number
        return self.add_all([Edit(UNDO, undoes=number)])[0]

    def import_file(self, path: str | os.PathLike[str]) -> list[Edit]:
        """Make all edits of a file, or none: CSV or JSON lines; see ``docs/edits.md``.

        A line may be about what an earlier one makes, such as a new kind.
        """
        editor, made = self, list[Edit]()

        def draft(verb: str, target: str | Target, value: str = "", **given: Any) -> Edit:
            nonlocal editor
            try:
                edit = editor.draft(verb, target, value, **given)
            except EditError:  # of the guide without the earlier lines, which take time to lay over
                editor = self._guide.with_edits(made).edits
                edit = editor.draft(verb, target, value, **given)
            made.append(edit)
            return edit

        return self.add_all(read_edits(Path(path), draft))

    def export_file(self, path: str | os.PathLike[str]) -> int:
        """Write the edits that hold to a file, as CSV if its name ends so; return how many."""
        write_edits(Path(path), self)
        return len(self)

    def judged(self, digest: str) -> tuple[Edit, ...]:
        """Return what the owner said of an answer about an image, by the digest of its file."""
        return tuple(
            e for e in self if e.target and e.target.form == IMAGE and e.target.digest == digest
        )

    @property
    def catalogue(self) -> "EditedCatalogue":
        """The catalogue of the guide with the edits laid over it."""
        return self._guide.edited_catalogue

    @cached_property
    def _resolver(self) -> Resolver:
        return Resolver(self._guide, self.catalogue)
