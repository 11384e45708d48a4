"""A catalogue as its owner has edited it: what needs no training shows at once.

It answers as :class:`~fieldguide.guide.catalogue.Catalogue` does, with the edits that hold laid
over it. Specimens and branches keep their numbers, which are rows of the guide's matrices. Kinds
keep the names that the key and the marks know them by until the next build: one that was renamed
has another ``shown``, one that was merged is an alias of the other.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from fieldguide.features import TAUGHT, WordModel
from fieldguide.features.vocabulary import YES
from fieldguide.guide.catalogue import MILLION, Catalogue
from fieldguide.guide.dates import DateRange
from fieldguide.guide.edits.branches import TreeIndex
from fieldguide.guide.edits.hand import (
    Hand,
    Lesson,
    SpecimenIndex,
    arrange_exemplars,
    read_hand,
)
from fieldguide.guide.edits.records import BRANCH, IMAGE, KIND, SPECIMEN, WORD, Edit
from fieldguide.guide.naming import show_kinds
from fieldguide.guide.summaries import N_EXEMPLARS, make_slugs
from fieldguide.guide.teaching import TaughtWord
from fieldguide.guide.views import Branch, Kind, Specimen

OWN_WORD = "keyword"  # the source of words that the owner gave


@dataclass(frozen=True)
class Overlay:
    """What of a guide its owner has edited, besides what its records say.

    Examples
    --------
    >>> overlay = Overlay(aliases={"d": "dark"}, hidden_words=frozenset({"blurred"}))
    >>> overlay.kind("d"), overlay.kind("light"), overlay.word("blurred"), overlay.word("red")
    ('dark', 'light', None, 'red')
    """

    aliases: Mapping[str, str] = field(default_factory=dict)  # kinds that are part of others
    excluded: frozenset[int] = frozenset()  # specimens
    hidden: frozenset[int] = frozenset()  # branches
    word_names: Mapping[str, str] = field(default_factory=dict)  # of words that were renamed
    hidden_words: frozenset[str] = frozenset()
    # The edits of one thing, by its form and its specimen, branch, kind, word, or image's digest.
    edits_of: Mapping[tuple[str, Any], tuple[Edit, ...]] = field(default_factory=dict)

    def kind(self, name: str) -> str:
        """Return the kind that a name stands for now."""
        return self.aliases.get(name, name)

    def word(self, name: str) -> str | None:
        """Return how a word is called now; None if it is hidden."""
        return None if name in self.hidden_words else self.word_names.get(name, name)

    def first_word(self, name: str) -> str:
        """Return how a word was called before it was renamed."""
        return self._first_words.get(name, name)

    @cached_property
    def _first_words(self) -> dict[str, str]:
        return {name: first for first, name in self.word_names.items()}

    def list_edits(self, form: str, key: Any) -> tuple[Edit, ...]:
        """Return the edits of a thing that hold, the first one first."""
        return self.edits_of.get((form, key), ())

    def list_notes(self, form: str, key: Any) -> list[Edit]:
        """Return the notes of a thing that hold, the first one first."""
        return [edit for edit in self.list_edits(form, key) if edit.verb == "note"]


class EditedCatalogue(Catalogue):
    """A catalogue with the owner's edits laid over it.

    Parameters
    ----------
    plain : Catalogue
    edits : sequence of Edit
        Those that hold, in their order.
    learn : callable
        Takes a lesson, and returns what it teaches of a word.
    """

    def __init__(
        self, plain: Catalogue, edits: Sequence[Edit], learn: Callable[[Lesson], TaughtWord]
    ) -> None:
        self._learn = learn
        self._db, self._lock = plain._db, plain._lock
        self.plain = plain
        rows = plain.register()
        paths, digests, kinds, places, typical = zip(*rows, strict=True) if rows else ((),) * 5
        self._raw_places: Sequence[int] = places
        self._typical = np.array(typical, dtype=float)
        self._tree = plain.branches()
        self.specimen_index = SpecimenIndex(paths, digests)
        self.tree_index = index_tree(self._tree, places, digests)
        self.hand: Hand = read_hand(edits, self.specimen_index)
        self._raw_kinds = plain.kinds()
        self._branch_edits = self._find_branches(edits)
        self.overlay = self._lay_over(edits)
        self._labels = self._label_rows(kinds)
        self._places = np.array([self._place(b) for b in places], dtype=np.int64)

    # -- what the edits come to -----------------------------------------------------------

    def _find_branches(self, edits: Sequence[Edit]) -> dict[int, list[Edit]]:
        found: dict[int, list[Edit]] = {}
        for edit in edits:
            if edit.target is not None and edit.target.form == BRANCH:
                branch = self.tree_index.find(edit.target)
                if branch is not None:
                    found.setdefault(branch, []).append(edit)
        return found

    def _lay_over(self, edits: Sequence[Edit]) -> Overlay:
        words = {name: name for name in (*dict(self.plain.words()), *self.hand.lessons)}
        sources = self._plain_sources
        hidden_words = {  # those whose lessons were undone since the last build
            word for word in sources if sources[word] == TAUGHT and word not in self.hand.lessons
        }
        of: dict[tuple[str, Any], tuple[Edit, ...]] = {
            (BRANCH, b): tuple(each) for b, each in self._branch_edits.items()
        }
        aliases = self._alias_kinds()
        for edit in edits:
            target = edit.target
            if target is None or target.form == BRANCH:
                continue
            key: Any = target.name
            if target.form == SPECIMEN:
                key = self.specimen_index.find(target)
            elif target.form == IMAGE:
                key = target.digest
            elif target.form == KIND:
                name = self.hand.kind_names.get(target.name, target.name)
                key = aliases.get(name, name)
            elif target.form == WORD:
                now = next((raw for raw, name in words.items() if name == target.name), None)
                key = target.name if now is None else now
                if now is not None and edit.verb == "hide":
                    hidden_words.add(now)
                elif now is not None and edit.verb == "rename" and edit.value not in words.values():
                    words[now] = edit.value
            of[target.form, key] = (*of.get((target.form, key), ()), edit)
        for raw, name in words.items():  # a word is asked about by its present name
            if raw != name and (WORD, raw) in of:
                of[WORD, name] = of.pop((WORD, raw))
        hidden = {
            b
            for b, each in self._branch_edits.items()
            if any(e.verb == "hide" for e in each) and self._tree[b].parent is not None
        }  # what holds everything is shown
        return Overlay(
            aliases,
            self.hand.excluded,
            frozenset(v.id for v in self._tree if hidden.intersection(self._list_above(v.id))),
            {raw: name for raw, name in words.items() if raw != name},
            frozenset(hidden_words),
            of,
        )

    def _alias_kinds(self) -> dict[str, str]:
        """Return, for each name of a kind that is no kind's own, the kind that it stands for."""
        groups: dict[str, list[Kind]] = {}
        for kind in self._raw_kinds:
            groups.setdefault(self.hand.kind_names.get(kind.name, kind.name), []).append(kind)
        order = list(self.hand.kind_names)
        aliases: dict[str, str] = {}
        for name, group in groups.items():
            own = [kind for kind in group if kind.name == name]
            renamed = sorted(group, key=lambda kind: order.index(kind.name) if not own else 0)
            head = (own or renamed[-1:])[0].name  # that which the others became part of
            aliases |= {other: head for other in (name, *(k.name for k in group)) if other != head}
        return aliases

    def _label_rows(self, kinds: Sequence[str | None]) -> list[str | None]:
        labels = [self.hand.label(i, own) for i, own in enumerate(kinds)]
        return [None if name is None else self.overlay.kind(name) for name in labels]

    def _list_above(self, branch: int) -> list[int]:
        path = [branch]
        while (parent := self._tree[path[-1]].parent) is not None:
            path.append(parent)
        return path

    def _place(self, branch: int) -> int:
        """Return the branch that shows what sits in one: itself, or the next that is shown."""
        return next(b for b in self._list_above(branch) if b not in self.overlay.hidden)

    @cached_property
    def _present(self) -> np.ndarray:
        present = np.ones(len(self._labels), dtype=bool)
        present[list(self.hand.excluded)] = False
        return present

    def _keep(self, ids: Iterable[int]) -> list[int]:
        return [i for i in ids if i not in self.hand.excluded]

    # -- specimens ------------------------------------------------------------------------

    def specimens(self, ids: Sequence[int]) -> list[Specimen]:
        """Return specimens in the order of ``ids``, with the kinds that they have now."""
        return [
            replace(
                each,
                kind=self._labels[each.id],
                branch=int(self._places[each.id]),
                answer=None if each.answer is None else self.overlay.kind(each.answer),
            )
            for each in self.plain.specimens(ids)
        ]

    def members(
        self, *, branch: int | None = None, kind: str | None = None, word: str | None = None
    ) -> list[int]:
        """Return the ids of a branch (here and below), of a kind, or that show a word."""
        if word is not None:
            ids, scores = self.showing([word])
            return [int(i) for i in ids[np.lexsort((ids, -self._typical[ids], -scores))]]
        if kind is not None:
            return self._rank(self.of_kinds([kind]))
        return self._keep(self.plain.members(branch=branch))

    def of_kinds(self, names: Sequence[str]) -> np.ndarray:
        """Return the specimens of some kinds."""
        wanted = {self.overlay.kind(name) for name in names}
        found = [i for i, kind in enumerate(self._labels) if kind in wanted]
        return np.array(self._keep(found), dtype=np.int64)

    def kind_columns(self) -> dict[str, np.ndarray]:
        """Return the specimens of each kind."""
        return {k: np.array(ids, dtype=np.int64) for k, ids in self._members.items()}

    def named(self, text: str) -> np.ndarray:
        """Return the specimens whose file or folder has a name, or has it in part."""
        return np.array(self._keep(self.plain.named(text).tolist()), dtype=np.int64)

    def of_dates(self, dates: DateRange) -> np.ndarray:
        """Return the specimens that were taken within some dates."""
        return np.array(self._keep(self.plain.of_dates(dates).tolist()), dtype=np.int64)

    def doubted(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the specimens whose kinds the key doubts, as they are now, and how sure it is."""
        raw = self.plain.specimens(range(len(self._labels)))
        found = [
            (s.id, int((s.confidence or 0) * MILLION))
            for s in raw
            if s.answer is not None and self._labels[s.id] is not None and self._present[s.id]
            if self.overlay.kind(s.answer) != self._labels[s.id]
        ]
        ids, sure = zip(*found, strict=True) if found else ((), ())
        return np.array(ids, dtype=np.int64), np.array(sure, dtype=np.int64)

    @cached_property
    def _members(self) -> dict[str, list[int]]:
        members: dict[str, list[int]] = {}
        for i in np.flatnonzero(self._present):
            kind = self._labels[i]
            if kind is not None:
                members.setdefault(kind, []).append(int(i))
        return dict(sorted(members.items()))

    def _rank(self, ids: Iterable[int]) -> list[int]:
        """Return specimens, the most typical first."""
        return sorted((int(i) for i in ids), key=lambda i: (-self._typical[i], i))

    # -- words ----------------------------------------------------------------------------

    @cached_property
    def taught(self) -> dict[str, TaughtWord]:
        """What came of the words that the owner taught, by their names; hidden ones are not here.

        A word of which too few specimens are left is said of none.
        """
        found = {}
        for word, lesson in self.hand.lessons.items():
            name = self.overlay.word(word)
            if name is not None and lesson.is_enough:
                found[name] = self._learn(lesson)
        return found

    @cached_property
    def _plain_sources(self) -> dict[str, str]:
        return self.plain.sources()

    def words_of(self, specimen: int) -> tuple[tuple[str, float], ...]:
        """Return the attributes that a specimen shows, surest first, the picture's own last."""
        said, sources = self.hand.words.get(specimen, {}), self._plain_sources
        own = [(raw, s) for raw, s in self.plain.words_of(specimen) if raw not in self.hand.lessons]
        of_taught = ((name, float(word.scores[specimen])) for name, word in self.taught.items())
        own += [(self.overlay.first_word(name), s) for name, s in of_taught if s >= YES]
        own.sort(key=lambda pair: (sources.get(pair[0]) in WordModel.AROUND, -pair[1]))
        named = ((self.overlay.word(raw), score) for raw, score in own)
        shown = [(name, score) for name, score in named if name is not None and name not in said]
        return (*((name, 1.0) for name, is_shown in said.items() if is_shown), *shown)

    def words(self) -> tuple[tuple[str, int], ...]:
        """Return every attribute with the number of specimens that show it, by name."""
        return tuple((name, len(ids)) for name, ids in sorted(self.columns().items()))

    def sources(self) -> dict[str, str]:
        """Return where each attribute comes from, by its name."""
        named = ((self.overlay.word(name), source) for name, source in self._plain_sources.items())
        own = {w: OWN_WORD for said in self.hand.words.values() for w, yes in said.items() if yes}
        found = own | {name: source for name, source in named if name is not None}
        return found | dict.fromkeys(self.taught, TAUGHT)

    def columns(self) -> dict[str, np.ndarray]:
        """Return the specimens that show each attribute."""
        columns = {}
        for raw, ids in self.plain.columns().items():
            name = self.overlay.word(raw)
            if name is not None and raw not in self.hand.lessons:
                columns[name] = ids[self._present[ids]]
        for name, taught in self.taught.items():
            columns[name] = np.flatnonzero((taught.scores >= YES) & self._present)
        for i, said in self.hand.words.items():
            for word, is_shown in said.items():
                if word not in columns and not is_shown:
                    continue
                shown = set(columns.get(word, np.empty(0, np.int64)).tolist()) - {i}
                shown |= {i} if is_shown and self._present[i] else set()
                columns[word] = np.array(sorted(shown), dtype=np.int64)
        return columns

    def showing(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the specimens that show any of some attributes, and scores in millionths."""
        best: dict[int, int] = {}
        for word in words:
            if word in self.taught:
                ids = np.flatnonzero(self.taught[word].scores >= YES)
                scores = (self.taught[word].scores[ids] * MILLION).astype(np.int64)
            else:
                ids, scores = self.plain.showing([self.overlay.first_word(word)])
            found = dict(zip(ids.tolist(), scores.tolist(), strict=True))
            for i, said in self.hand.words.items():
                if word in said:
                    found.pop(i, None)
                    found |= {i: MILLION} if said[word] else {}
            for i, score in found.items():
                best[i] = max(score, best.get(i, 0))
        kept = self._keep(sorted(best))
        return np.array(kept, dtype=np.int64), np.array([best[i] for i in kept], dtype=np.int64)

    # -- branches and kinds ---------------------------------------------------------------

    def branches(self) -> tuple[Branch, ...]:
        """Return every branch, in pre-order; hidden and empty ones are below none."""
        here = np.bincount(self._places[self._present], minlength=len(self._tree))
        inside: list[Counter[str]] = [Counter() for _ in self._tree]
        count = np.zeros(len(self._tree), dtype=np.int64)
        for i in np.flatnonzero(self._present).tolist():
            kind = self._labels[i]
            for b in self._list_above(self._raw_places[i]):
                count[b] += 1
                inside[b].update(() if kind is None else (kind,))
        return tuple(self._edit_branch(b, count, here, inside[b.id]) for b in self._tree)

    def _edit_branch(
        self, branch: Branch, count: np.ndarray, direct: np.ndarray, inside: Counter[str]
    ) -> Branch:
        names = [e.value for e in self._branch_edits.get(branch.id, ()) if e.verb == "rename"]
        words = tuple(self.overlay.word_names.get(word, word) for word in branch.words)
        chosen = self._keep(branch.exemplars)
        pinned = tuple(i for i in self.hand.pinned if self._places[i] == branch.id)
        is_as_built = not pinned and self.hand.rejected.isdisjoint(chosen)
        members = chosen if is_as_built else self._keep(self.plain.members(branch=branch.id))
        hand = replace(self.hand, pinned=pinned)
        return replace(
            branch,
            children=tuple(b for b in branch.children if b not in self.overlay.hidden and count[b]),
            words=(names[-1],) if names else words,
            count=int(count[branch.id]),
            n_direct=int(direct[branch.id]),
            exemplars=arrange_exemplars(chosen, members, hand, max(len(chosen), len(pinned))),
            kinds=tuple(sorted(inside.items(), key=lambda pair: (-pair[1], pair[0]))),
        )

    def kinds(self) -> tuple[Kind, ...]:
        """Return every kind, by name; those that are part of others are not among them."""
        raw = {kind.name: kind for kind in self._raw_kinds}
        names = sorted({*raw, *self._members} - set(self.overlay.aliases))
        public = {head: name for name, head in self.overlay.aliases.items() if name not in raw}
        shown = show_kinds([public.get(name, name) for name in names])
        new = [name for name in names if name not in raw]
        slugs = make_slugs([*(kind.slug for kind in self._raw_kinds), *new])[len(raw) :]
        made = {
            name: Kind(name, slug, 0, (), (), None, (), (), name)
            for name, slug in zip(new, slugs, strict=True)
        }
        parts: dict[str, list[Kind]] = {}
        for kind in self._raw_kinds:
            parts.setdefault(self.overlay.kind(kind.name), []).append(kind)
        return tuple(
            self._edit_kind((raw | made)[name], parts.get(name, []), written)
            for name, written in zip(names, shown, strict=True)
        )

    def _edit_kind(self, kind: Kind, parts: Sequence[Kind], shown: str) -> Kind:
        members = self._members.get(kind.name, [])
        chosen = [i for part in (kind, *parts) for i in part.exemplars]
        exemplars = arrange_exemplars(chosen, self._rank(members), self.hand, N_EXEMPLARS)
        alike: dict[str, float] = {}
        for other, share in kind.look_alikes:
            now = self.overlay.kind(other)
            if now != kind.name:
                alike[now] = max(share, alike.get(now, 0))
        named = ((self.overlay.word(word.name), word) for word in kind.words)
        branches = Counter(int(self._places[i]) for i in members)
        return replace(
            kind,
            count=len(members),
            exemplars=exemplars or tuple(self._keep(kind.exemplars)) or kind.exemplars,
            words=tuple(replace(word, name=name) for name, word in named if name is not None),
            look_alikes=tuple(alike.items()),
            branches=tuple(sorted(branches.items(), key=lambda pair: (-pair[1], pair[0]))),
            shown=shown,
        )


def index_tree(
    branches: Sequence[Branch], places: Sequence[int], digests: Sequence[str]
) -> TreeIndex:
    """Return what finds the branches of a tree that edits are about."""
    sentences: list[str] = []
    for branch in branches:
        phrase = ", ".join(branch.words)
        above = "" if branch.parent is None else sentences[branch.parent]
        sentences.append(f"{above} › {phrase}" if above else phrase)
    return TreeIndex([branch.parent for branch in branches], sentences, places, digests)
