"""Find specimens by what they show, are and are called: every term of a query holds of a find.

A term is looked up among the words and the kinds of the guide: as it is spelled, as a plural or
singular, then as part of a name (*warbler* finds the kind *Cape May warbler*). A term that is none
of these may begin a name, be the name of a file or folder, or a slip of the pen, in this order;
what was taken for it is said. ``date:`` takes dates, and *doubt*, where it is no name of the guide,
the specimens whose held-out answer is another kind. A specimen ranks by the sum over terms of its
score, at most 1 for each, then by how typical it is of its branch.
"""

import difflib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fieldguide._check import check_number
from fieldguide.errors import InvalidArgument
from fieldguide.guide.catalogue import MILLION, Catalogue
from fieldguide.guide.dates import read_date
from fieldguide.guide.query import Piece, parse_query, write_term
from fieldguide.guide.spelling import count_slips, most_slips, plain, singulars, split_words
from fieldguide.guide.views import Facet, Find, QueryResult, Specimen, Term

_AND = ("and", "&", "+")
_DOUBT = ("doubt", "doubts", "doubted", "doubtful")
_DATES = ("2021", "2021-05", "2021-05..2021-07", "may")
_LONGEST = 8  # words of one name that are tried together
_LEAST_BEGINNING = 3  # letters
_N_SUGGESTIONS = 5
_CACHED = 32  # terms whose specimens are kept
_MOST = 10**9
_NONE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class _Name:
    """A word or a kind, and how it is spelled."""

    form: str  # "word" or "kind"
    name: str
    count: int
    plain: str
    parts: tuple[frozenset[str], ...]  # each single word of it, with what it may be the plural of

    def holds(self, parts: Sequence[frozenset[str]]) -> bool:
        """Whether some of its words, one after the other, are those of ``parts``."""
        starts = range(len(self.parts) - len(parts) + 1)
        return any(
            all(a & b for a, b in zip(self.parts[start:], parts, strict=False)) for start in starts
        )


class Finder:
    """What can be found in a guide. Threads may share it.

    Parameters
    ----------
    catalogue : Catalogue
    words, kinds : iterables of (name, number of specimens)
    excluded : iterable of int
        Specimens that are never found.
    renamed : iterable of (name, number of specimens, other name)
        Kinds that are known by another name too.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        words: Iterable[tuple[str, int]],
        kinds: Iterable[tuple[str, int]],
        excluded: Iterable[int] = (),
        renamed: Iterable[tuple[str, int, str]] = (),
    ) -> None:
        self._catalogue = catalogue
        self._excluded = [*excluded]
        self._scored: dict[tuple[Any, ...], tuple[np.ndarray, np.ndarray]] = {}
        self._names = [_describe("word", *each) for each in words]
        self._names += [_describe("kind", *each) for each in kinds]
        self._spelled: dict[str, list[_Name]] = defaultdict(list)
        self._with_part: dict[str, list[_Name]] = defaultdict(list)
        for name in (*self._names, *(_describe("kind", *each) for each in renamed)):
            self._spelled[name.plain].append(name)
            for part in frozenset().union(*name.parts):
                self._with_part[part].append(name)

    def find(self, query: str, limit: int | None = 60, start: int = 0) -> QueryResult:
        """Return the specimens that fit a query, best first; see :meth:`Guide.find`."""
        check_number("find", "limit", _MOST if limit is None else limit, 1, _MOST, integer=True)
        check_number("find", "start", start, 0, _MOST, integer=True)
        terms = self.read(query)
        ids, scores = self._search(terms)
        end = None if limit is None else start + limit
        shown = [int(i) for i in ids[start:end]]
        finds = tuple(
            Find(specimen, float(score), self._reasons(terms, specimen))
            for specimen, score in zip(
                self._catalogue.specimens(shown), scores[start:end], strict=True
            )
        )
        return QueryResult(query, terms, len(ids), start, finds)

    def narrow(self, query: str | None = None, *, word: str = "") -> tuple[Facet, ...]:
        """Return the words and kinds that some finds of a query have; see :meth:`Guide.narrow`."""
        if query is None:
            terms: tuple[Term, ...] = (Term(word, form="word", how="exact", words=(word,)),)
            asked = self._written["word", word]
        else:
            terms = self.read(query)
            asked = ", ".join(map(rewrite_term, terms))
        ids, _ = self._search(terms)
        is_found = np.zeros(self._n_specimens, dtype=bool)
        is_found[ids] = True
        # A term that is one name alone is not added again; of one that is any of several, each.
        alone = [term for term in terms if len(term.words) + len(term.kinds) == 1]
        used = {("word", word) for term in alone for word in term.words}
        used |= {("kind", kind) for term in alone for kind in term.kinds}
        facets = []
        for name in self._names:
            columns = self._columns if name.form == "word" else self._kind_columns
            count = int(is_found[columns.get(name.name, _NONE)].sum())
            if count and (name.form, name.name) not in used:
                added = f"{asked}, {self._written[name.form, name.name]}"
                facets.append(Facet(name.form, name.name, count, added))
        return tuple(sorted(facets, key=lambda f: (f.form, -f.count, f.name)))

    def read(self, query: str) -> tuple[Term, ...]:
        """Return the terms of a query with what each is taken for."""
        terms = [term for piece in parse_query(query) for term in self._read_piece(piece)]
        if not terms:
            raise InvalidArgument(
                "Say what to find: words, kinds or names of files, such as 'red'."
            )
        return tuple({_meaning(term): term for term in reversed(terms)}.values())[::-1]

    @cached_property
    def _written(self) -> dict[tuple[str, str], str]:
        """How each word and kind is written in a query that means it alone."""
        return {
            (n.form, n.name): write_term(
                n.name, "" if self._look_up(n.name, "")[1] == [n] else n.form
            )
            for n in self._names
        }

    # -- from a query to terms --------------------------------------------------------------

    def _read_piece(self, piece: Piece) -> list[Term]:
        """Part a piece into terms: from left to right, the longest name of the guide each time."""
        if piece.form == "date":
            return [
                self._read_filter(word, "date", piece.excludes) or self._unknown(word, piece)
                for word in piece.words
                if word.casefold() not in _AND
            ]
        if piece.is_quoted or self._look_up(" ".join(piece.words), piece.form)[1]:
            return [self._read_term(" ".join(piece.words), piece.form, piece.excludes)]
        terms: list[Term] = []
        words, form, excludes = piece.words, piece.form, piece.excludes
        while words:
            n = self._measure(words, form)
            text = " ".join(words[:n])
            if text.casefold() not in _AND:
                terms.append(self._read_term(text, form, excludes))
                form, excludes = "", False
            words = words[n:]
        return terms

    def _read_filter(self, text: str, how: str, excludes: bool) -> Term | None:
        """Return a term about the date or the doubt of specimens; None for what is none."""
        if how == "date" and read_date(text) is None:
            return None
        term = Term(text, excludes, form="date" if how == "date" else "", how=how)
        return replace(term, n_specimens=len(self._score(term)[0]))

    def _unknown(self, text: str, piece: Piece) -> Term:
        return Term(text, piece.excludes, form=piece.form, suggestions=_DATES)

    def _measure(self, words: Sequence[str], form: str) -> int:
        """Return how many of the words, from the first on, are one name."""
        is_name = [bool(self._look_up(word, form)[1]) for word in words]
        if not all(is_name) and self._correct(" ".join(words), form, most=1):
            return len(words)
        for n in range(min(len(words), _LONGEST), 0, -1):
            if self._look_up(" ".join(words[:n]), form)[1]:
                return n
        return 1

    def _read_term(self, text: str, form: str, excludes: bool) -> Term:
        term = Term(text, excludes, form=form)
        how, names = ("", []) if form == "file" else self._look_up(text, form)
        if not names and not form and text.casefold() in _DOUBT:
            doubt = self._read_filter(text, "doubt", excludes)
            assert doubt is not None
            return doubt
        if not names and form != "file":
            how, names = "beginning", self._begin(text, form)
        if not names and form in ("", "file"):
            named = replace(term, how="file")
            if n_named := len(self._score(named)[0]):
                return replace(named, n_specimens=n_named)
        if not names and form != "file" and (corrected := self._correct(text, form)):
            how, names = "slip", self._look_up(corrected, form)[1]
        if not names:
            return replace(term, suggestions=self._suggest(text))
        term = replace(
            term,
            how=how,
            words=tuple(sorted(name.name for name in names if name.form == "word")),
            kinds=tuple(sorted({name.name for name in names if name.form == "kind"})),
        )
        return replace(term, n_specimens=len(self._score(term)[0]))

    def _look_up(self, text: str, form: str) -> tuple[str, list[_Name]]:
        """Return how a text is spelled in the guide, and the names that it stands for."""
        spelled = [n for n in self._spelled.get(plain(text), ()) if form in ("", n.form)]
        if form and any(n.name == text for n in spelled):
            return "exact", [n for n in spelled if n.name == text]
        parts = tuple(singulars(word) for word in split_words(plain(text)))
        first = dict.fromkeys(
            n for each in parts[:1] for p in each for n in self._with_part.get(p, ())
        )
        held = [n for n in first if form in ("", n.form) and n.holds(parts)]
        whole = [n for n in held if len(n.parts) == len(parts)]
        if spelled or whole:
            # Beside a word of this name, kinds that have it in theirs are meant too; but words
            # that have it in theirs say something else.
            same = spelled or whole
            kinds = [n for n in held if n.form == "kind"] if not _has(same, "kind") else []
            return "exact" if spelled else "plural", [*same, *kinds]
        return ("part", held) if held else ("", [])

    def _begin(self, text: str, form: str) -> list[_Name]:
        begun = plain(text)
        if len(begun) < _LEAST_BEGINNING:
            return []
        return [n for n in self._names if form in ("", n.form) and f" {begun}" in f" {n.plain}"]

    def _correct(self, text: str, form: str, most: int = 2) -> str:
        """Return the nearest spelling of the guide; of those as near, that of most specimens."""
        wanted = plain(text)
        most = min(most_slips(wanted), most)
        best = (most + 1, 0, "")
        if most:
            for spelling, count in self._spellings.get(form, {}).items():
                slips = count_slips(wanted, spelling, min(most, best[0]))
                if slips <= most:
                    best = min(best, (slips, -count, spelling))
        return best[2]

    @cached_property
    def _spellings(self) -> dict[str, dict[str, int]]:
        """Names and the single words in them, each with its number of specimens, by form."""
        counts: dict[str, dict[str, int]] = {
            form: defaultdict(int) for form in ("", "word", "kind")
        }
        for name in self._names:
            for spelling in {name.plain, *split_words(name.plain)}:
                for form in ("", name.form):
                    counts[form][spelling] += name.count
        return counts

    def _suggest(self, text: str) -> tuple[str, ...]:
        names = {name.plain: name.name for name in self._names}
        near = difflib.get_close_matches(plain(text), sorted(names), n=_N_SUGGESTIONS, cutoff=0.5)
        if near:
            return tuple(dict.fromkeys(names[spelling] for spelling in near))
        frequent = sorted(self._names, key=lambda n: (n.form != "word", -n.count, n.name))
        return tuple(dict.fromkeys(name.name for name in frequent[:_N_SUGGESTIONS]))

    # -- from terms to specimens ------------------------------------------------------------

    def _search(self, terms: Sequence[Term]) -> tuple[np.ndarray, np.ndarray]:
        """Return the specimens that fit all terms, best first, and their scores."""
        scores = np.zeros(self._n_specimens, dtype=np.int64)
        fits = np.ones(self._n_specimens, dtype=bool)
        fits[self._excluded] = False
        for term in terms:
            ids, score = self._score(term)
            has = np.zeros(self._n_specimens, dtype=bool)
            has[ids] = True
            fits &= ~has if term.excludes else has
            if not term.excludes:
                scores[ids] += score
        ids = np.flatnonzero(fits)
        order = np.lexsort((ids, -self._typicality[ids], -scores[ids]))
        return ids[order], scores[ids[order]] / MILLION

    def _score(self, term: Term) -> tuple[np.ndarray, np.ndarray]:
        """Return the specimens that a term stands for, and how much it is true of each.

        Scores are whole millionths: their sums do not depend on the order of the terms.
        """
        key = _meaning(replace(term, excludes=False))
        known = self._scored.get(key)
        if known is None:
            known = self._look_through(term)
            kept = self._scored if len(self._scored) < _CACHED else {}
            self._scored = {**kept, key: known}  # replaced, not changed: other threads read it
        return known

    def _look_through(self, term: Term) -> tuple[np.ndarray, np.ndarray]:
        if term.how == "file":
            ids = self._catalogue.named(term.text)
            return ids, np.full(len(ids), MILLION)
        if term.how == "doubt":
            return self._catalogue.doubted()
        if term.how == "date":
            dates = read_date(term.text)
            assert dates is not None
            ids = self._catalogue.of_dates(dates)
            return ids, np.full(len(ids), MILLION)
        best = np.full(self._n_specimens, -1, dtype=np.int64)
        if term.words:
            ids, scores = self._catalogue.showing(term.words)
            np.maximum.at(best, ids, scores)
        if term.kinds:
            best[self._catalogue.of_kinds(term.kinds)] = MILLION
        ids = np.flatnonzero(best >= 0)
        return ids, best[ids]

    def _reasons(self, terms: Sequence[Term], specimen: Specimen) -> tuple[str, ...]:
        """Return what of a specimen fits the terms: its words, kind, file, date and doubt."""
        shown, kind = {word for word, _ in self._catalogue.words_of(specimen.id)}, specimen.kind
        wanted = [term for term in terms if not term.excludes]
        words = [word for term in wanted for word in term.words if word in shown]
        kinds = [kind for term in wanted if kind in term.kinds and kind is not None]
        files = [term.text for term in wanted if term.how == "file"]
        hows = {term.how for term in wanted}
        dates = [specimen.date[:10]] if specimen.date and "date" in hows else []
        doubts = [f"the key says {specimen.answer}"] if "doubt" in hows else []
        return tuple(dict.fromkeys([*words, *kinds, *files, *dates, *doubts]))

    @cached_property
    def _typicality(self) -> np.ndarray:
        return self._catalogue.typicality()

    @property
    def _n_specimens(self) -> int:
        return len(self._typicality)

    @cached_property
    def _columns(self) -> Mapping[str, np.ndarray]:
        return self._catalogue.columns()

    @cached_property
    def _kind_columns(self) -> Mapping[str, np.ndarray]:
        return self._catalogue.kind_columns()


def rewrite_term(term: Term) -> str:
    """Write a term again; several words that are no name of the guide stay one term."""
    is_name = term.how in ("exact", "plural", "part", "doubt")
    return write_term(term.text, term.form, term.excludes, is_quoted=not is_name)


def _describe(form: str, name: str, count: int, called: str = "") -> _Name:
    spelling = plain(called or name)
    return _Name(form, name, count, spelling, tuple(map(singulars, split_words(spelling))))


def _has(names: Iterable[_Name], form: str) -> bool:
    return any(name.form == form for name in names)


def _meaning(term: Term) -> tuple[Any, ...]:
    text = "" if term.words or term.kinds else term.text
    other = term.how if term.how in ("file", "date", "doubt") else ""
    return (term.excludes, term.words, term.kinds, other, "" if other == "doubt" else text)
