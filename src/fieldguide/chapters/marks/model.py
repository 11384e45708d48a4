"""What a guide knows of marks: those of a kind, between two kinds, and in a new picture.

Everything is counted from what every specimen shows, when it is asked for.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fieldguide.chapters.marks.choosing import LEAST_CLEAR, LEAST_RISE, compare_measures
from fieldguide.chapters.marks.couplets import (
    choose_words,
    find_words,
    keep_few,
    list_exceptions,
    share_by_fold,
)
from fieldguide.chapters.marks.pool import (
    NETWORK,
    OWNER,
    PICTURE,
    SUBJECT,
    SURE,
    SURROUNDINGS,
    Column,
    Pool,
    measure_subjects,
    name_measure,
    score_columns,
    see_columns,
)
from fieldguide.chapters.marks.records import (
    ImageMark,
    ImageMarks,
    KindMarks,
    Mark,
    MarkedSpecimen,
    NetworkClass,
    PairDifferences,
    PairMarks,
    PatternMark,
    Threshold,
)
from fieldguide.chapters.marks.saying import are_apart, drop_repeats, repeats_colours
from fieldguide.chapters.marks.sentences import say_kind, say_shown, say_unusual
from fieldguide.features import COLOURS, MEASURES, SubjectMap, rank_colours
from fieldguide.features.network import Box
from fieldguide.features.vocabulary import YES
from fieldguide.guide.apart import (
    LEAST_SHARE,
    MOST_ELSEWHERE,
    Counts,
    Passed,
    count_shows,
    find_marks,
)
from fieldguide.guide.models import Models
from fieldguide.guide.naming import show_kinds
from fieldguide.guide.sighting import Sighting
from fieldguide.guide.views import CoupletWords, Kind, SideWords, Word

N_PAIR_MARKS = 4
N_COLOURS, LEAST_WEIGHT = 3, 0.4  # of the first colour's
N_SHOWN = 4  # specimens of a mark
A_TRACE = 0.03  # share of the subject, from which on it has "less" of a colour and not "no"
SURELY = 0.9  # score of what is unusual
N_UNUSUAL, LEAST_USUAL = 2, 8  # specimens of a kind, before something is unusual in it
MOST_LACKED = 0.2  # share of a kind that may show what it is said, or taken, to lack


@dataclass(frozen=True)
class Said:
    """What a build found out of one kind."""

    columns: tuple[int, ...]  # of the marks that are said
    n_sufficient: int
    patterns: tuple[PatternMark, ...]
    classes: tuple[NetworkClass, ...]
    # Columns of attributes that nobody annotated in the kind: it may be found to show one, but not
    # to lack it, nor is it told from single look-alikes by it.
    unknown: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Marks:
    """All marks of a guide, and what finds them in a new picture."""

    kinds: tuple[str, ...]
    index: np.ndarray  # (n_specimens,) the number of the kind; −1 for none
    folds: np.ndarray  # (n_specimens,)
    pool: Pool
    said: tuple[Said, ...]  # of each kind
    asked: tuple[Column, ...] = ()  # as the word model calls them, where the owner renamed some
    hidden: tuple[int, ...] = ()  # columns that the owner wants nothing to be said of

    def reword(self, names: Mapping[str, str], hidden: Collection[str]) -> "Marks":
        """Return the marks with words called as their owner calls them, and without hidden ones."""
        columns = self.pool.columns
        gone = tuple(j for j, column in enumerate(columns) if column.text in hidden)
        shows = self.pool.shows.copy()
        shows[:, list(gone)] = False
        called = tuple(
            column._replace(text=names.get(column.text, column.text)) for column in columns
        )
        pool = self.pool._replace(columns=called, shows=shows)
        return replace(self, pool=pool, asked=columns, hidden=gone)

    @cached_property
    def shown(self) -> list[str]:
        """The kinds as people write them."""
        return show_kinds(self.kinds)

    @property
    def pictures(self) -> list[str]:
        """The addresses of all pictures of patterns."""
        return [pattern.picture for said in self.said for pattern in said.patterns]

    @cached_property
    def counts(self) -> Counts:
        """What the specimens of each kind and fold show."""
        return count_shows(self.pool.shows, self.index, self.folds)

    @cached_property
    def _shares(self) -> np.ndarray:
        """The share of each kind that shows each column, without each fold, then of all."""
        return share_by_fold(self.counts)

    @cached_property
    def colours(self) -> dict[int, tuple[str, ...]]:
        """The colours that are most characteristic of the subjects of each kind, by number."""
        if self.pool.measured is None:
            return {}
        is_known = self.index >= 0
        shares = np.maximum(self.pool.measured.measures[is_known, : len(COLOURS)], 0)
        ranked, weights = rank_colours(shares, self.index[is_known])
        return {
            int(k): tuple(COLOURS[c] for c in _list_first(row))
            for k, row in zip(ranked, weights, strict=True)
        }

    def of_kind(
        self, kind: Kind, spell: Callable[[str], str], maps: np.ndarray | None
    ) -> KindMarks | None:
        """Return what tells a kind from others; None for one that has no specimens."""
        if kind.name not in self.kinds:
            return None
        k = self.kinds.index(kind.name)
        said, place = self.said[k], _Places(kind, maps, self.pool)
        first, others = self._split_marks(k)
        marks = tuple(map(place.show, (*first, *others)))
        apart = tuple(
            PairMarks(other, spell(other), share, tuple(map(place.show, self.set_apart(k, j))))
            for other, share in kind.look_alikes
            if other in self.kinds
            for j in [self.kinds.index(other)]
        )
        sentence = say_kind(marks[: len(first)], apart)
        return KindMarks(
            kind.name,
            marks,
            len(first),
            said.n_sufficient,
            apart,
            said.patterns,
            said.classes,
            self.colours.get(k, ()),
            sentence,
        )

    def compare(self, kind: Kind, other: Kind, models: Models) -> PairDifferences | None:
        """Return what sets two kinds apart; None where one has no specimens."""
        if not {kind.name, other.name} <= set(self.kinds):
            return None
        a, b = (self.kinds.index(each.name) for each in (kind, other))
        marks = (
            tuple(_Places(own, models.maps, self.pool).show(mark) for mark in self.set_apart(k, j))
            for own, k, j in ((kind, a, b), (other, b, a))
        )
        return PairDifferences(*marks)

    def word_sides(self, minus: Sequence[str], plus: Sequence[str]) -> CoupletWords:
        """Return what tells two sets of kinds apart; of two kinds, what sets each apart."""
        known = {kind: k for k, kind in enumerate(self.kinds)}
        sides = [[known[kind] for kind in kinds if kind in known] for kinds in (minus, plus)]
        both = (sides, sides[::-1])
        if len(sides[0]) == len(sides[1]) == 1:
            return CoupletWords(*(SideWords(self._word_pair(*own, *other)) for own, other in both))
        found = [self._word_side(own, other) for own, other in both]
        columns = [[each.column for each in passed] for passed in found]
        shares = self._shares[-1]
        worded = []
        for (own, other), passed, signs in zip(both, found, (columns, columns[::-1]), strict=True):
            words = tuple(
                Word(
                    self.pool.columns[each.column].text,
                    *(float(shares[side, each.column].mean()) for side in (own, other)),
                )
                for each in passed
            )
            but = list_exceptions(shares[own], *signs)
            worded.append(SideWords(words, tuple(self.kinds[own[i]] for i in but)))
        return CoupletWords(*worded)

    def _word_side(self, own: Sequence[int], other: Sequence[int]) -> list[Passed]:
        """Return the columns that are said of kinds ``own`` beside ``other``."""
        name = self.shown[own[0]] if len(own) == 1 else ""
        found = find_words(self.counts, self._shares, own, other)
        found = [each for each in found if not self._is_overlooked(each)]
        return choose_words(found, self.pool.columns, name)

    def _word_pair(self, k: int, other: int) -> tuple[Word, ...]:
        """Return what is said of one kind beside one other."""
        marks = keep_few([mark for mark in self.set_apart(k, other) if not mark.negated])
        return tuple(Word(m.words, m.n_own / m.of_own, m.n_other / m.of_other) for m in marks)

    def answer(self, sighting: Sighting) -> ImageMarks | None:
        """Return which marks of its likeliest kind a new picture shows; None without any."""
        return self.see(sighting, sighting.kinds[0].name) if sighting.kinds else None

    def see(self, sighting: Sighting, name: str) -> ImageMarks | None:
        """Say which marks of a kind a new picture shows or lacks, and where.

        What the network is in doubt of is left out: it is neither seen nor missed.
        """
        if name not in self.kinds:
            return None
        k = self.kinds.index(name)
        maps = sighting.map
        scores, shows = self.look_for_columns(sighting)
        measures = None if maps is None else measure_subjects(maps).measures[0]
        found = None if maps is None else SubjectMap.from_row(maps[0])
        marks, _ = self._split_marks(k)
        others = (kind.name for kind in sighting.kinds if kind.name in self.kinds)
        against = next((other for other in others if other != name), None)
        apart = [] if against is None else self.set_apart(k, self.kinds.index(against))

        def see(mark: Mark) -> ImageMark:
            box = _find_box(mark, found)
            is_seen = _is_seen(mark, shows, measures)
            numbers = mark.n_own, mark.of_own, mark.n_other, mark.of_other
            return ImageMark(mark.words, mark.source, is_seen, *numbers, box)

        seen, seen_apart = (
            tuple(see(mark) for mark in some if not is_doubtful(mark, scores))
            for some in (marks, apart)
        )
        return ImageMarks(
            name, say_shown(seen), seen, against, seen_apart, self._find_unusual(k, scores)
        )

    def look_for_columns(self, sighting: Sighting) -> tuple[np.ndarray, np.ndarray]:
        """Return how far a new picture shows each column, and whether it does."""
        columns, models = self.asked or self.pool.columns, sighting.models
        scores = score_columns(
            columns, models.word_model, sighting.word_scores[None], sighting.map
        )[0]
        scores[list(self.hidden)] = 0
        return scores, see_columns(columns, scores)

    def find_passed(self, k: int) -> list[Passed]:
        """Return what sets a kind apart from all others."""
        others = [j for j in range(len(self.kinds)) if j != k]
        return find_marks(self.counts, k, others, MOST_ELSEWHERE)

    def _split_marks(self, k: int) -> tuple[list[Mark], list[Mark]]:
        """Return what sets a kind apart from all others: what is said, and the rest."""
        marks = {each.column: self._make_mark(each) for each in self.find_passed(k)}
        said = self.said[k].columns
        others = [mark for j, mark in marks.items() if j not in said]
        return [marks[j] for j in said if j in marks], others

    def set_apart(self, k: int, other: int) -> list[Mark]:
        """Return what sets a kind apart from one other, positive marks first.

        What other kinds taught of an attribute, they taught by what they look like; of kinds that
        look alike it does not decide.
        """
        unknown = {*self.said[k].unknown, *self.said[other].unknown}
        passed = [
            each
            for each in find_marks(self.counts, k, [other])
            if each.rise >= LEAST_RISE
            and not self._is_overlooked(each)
            and not self._may_be_both(each.column, other)
            and each.column not in unknown
        ]
        kept = drop_repeats(passed, self.pool.columns, self.shown[k])
        marks = [self._make_mark(each) for each in kept]
        if self.pool.measured is not None:
            own, others = (np.flatnonzero(self.index == j) for j in (k, other))
            compared = compare_measures(self.pool.measured, self.folds, own, others)
            marks += list(_drop_alike(_name_measures(compared), marks))
        is_about = [mark for mark in marks if mark.source not in (SURROUNDINGS, PICTURE)]
        around = [mark for mark in marks if mark.source == SURROUNDINGS]
        marks = [*is_about, *around] or marks
        if len(is_about) < 2:
            marks = [*is_about, *self._list_lacked(k, other), *around] or marks
        return marks[:N_PAIR_MARKS]

    def _is_overlooked(self, passed: Passed) -> bool:
        """Whether a word of the network may be true of the others too, but is seldom seen by it."""
        is_said = self.pool.columns[passed.column].source == NETWORK
        return is_said and passed.n_other > MOST_LACKED * passed.of_other

    def _may_be_both(self, column: int, other: int) -> bool:
        """Whether a word of the network may be true of another kind, which it sees nothing else in.

        A kind that the network is sure of as a bird, or of nothing, may be a songbird; one that it
        is sure of as a water bird is none.
        """
        if self.pool.columns[column].source != NETWORK:
            return False
        shown, n = self.counts.shows[other].sum(axis=0), self.counts.n[other].sum()
        sure = [
            each.text
            for each, n_shown in zip(self.asked or self.pool.columns, shown, strict=True)
            if each.source == NETWORK and n_shown >= LEAST_SHARE * n
        ]
        said = (self.asked or self.pool.columns)[column].text
        return not any(are_apart(said, each) for each in sure)

    def _make_mark(self, passed: Passed) -> Mark:
        """Return a column that passed as a mark."""
        return _to_mark(self.pool.columns[passed.column], passed, column=passed.column)

    def _list_lacked(self, k: int, other: int) -> list[Mark]:
        """Return at most one thing that the other kind shows and this one does not."""
        passed = [
            each
            for each in find_marks(self.counts, other, [k])
            if each.column not in self.said[k].unknown
        ]
        kept = drop_repeats(passed, self.pool.columns, self.shown[other])
        for each in kept:
            mark = self._make_mark(each)
            is_rare = each.n_other <= MOST_LACKED * each.of_other and each.rise >= LEAST_CLEAR
            # What is not much wider than tall may be anything; what is not black is not black.
            if is_rare and (mark.source == OWNER or mark.colours):
                lacking = each.of_other - each.n_other, each.of_own - each.n_own
                return [
                    replace(
                        mark,
                        negated=True,
                        text=mark.text.removeprefix("with "),
                        is_little=self._has_little(mark, k),
                        n_own=lacking[0],
                        of_own=each.of_other,
                        n_other=lacking[1],
                        of_other=each.of_own,
                    )
                ]
        return []

    def _has_little(self, mark: Mark, k: int) -> bool:
        """Whether a kind that is said to lack colours has a little of one."""
        if self.pool.measured is None or not mark.colours:
            return False
        columns = [COLOURS.index(colour) for colour in mark.colours]
        shares = self.pool.measured.measures[np.ix_(self.index == k, columns)]
        shares = shares[np.isfinite(shares)]
        return len(shares) > 0 and bool(np.quantile(shares, 0.8) > A_TRACE)

    def _find_unusual(self, k: int, scores: np.ndarray) -> tuple[str, ...]:
        """Return what a picture surely shows and no specimen of a kind does."""
        n = int(self.counts.n[k].sum())
        if n < LEAST_USUAL:
            return ()
        shown = self.counts.shows[k].sum(axis=0)
        shown[list(self.said[k].unknown)] = n
        rare = [
            j for j in np.flatnonzero((shown == 0) & (scores >= SURELY)) if self._is_plain(int(j))
        ]
        rare.sort(key=lambda j: (-scores[j], j))
        columns = [self.pool.columns[j] for j in rare[:N_UNUSUAL]]
        return tuple(say_unusual(column.text, column.source, n) for column in columns)

    def _is_plain(self, j: int) -> bool:
        """Whether a column says something large of the subject."""
        column = self.pool.columns[j]
        if column.source == SUBJECT:
            return bool(column.colours) and column.text.startswith("mostly ")
        return column.source == OWNER and not column.same_as


class _Places:
    """Where the exemplars of a kind show marks."""

    def __init__(self, kind: Kind, maps: np.ndarray | None, pool: Pool) -> None:
        self._ids = kind.exemplars
        self._pool = pool
        self._maps: dict[int, SubjectMap | None] = {}
        if maps is not None:
            self._maps = {i: SubjectMap.from_row(np.asarray(maps[i])) for i in self._ids}

    def show(self, mark: Mark) -> Mark:
        """Return the mark with the exemplars that show it."""
        if mark.negated:
            return mark
        ids = [i for i in self._ids if self._shows(mark, i)][:N_SHOWN]
        return replace(
            mark,
            specimens=tuple(MarkedSpecimen(i, _find_box(mark, self._maps.get(i))) for i in ids),
        )

    def _shows(self, mark: Mark, i: int) -> bool:
        measures = None if self._pool.measured is None else self._pool.measured.measures[i]
        return _is_seen(mark, self._pool.shows[i], measures)


def _list_first(weights: np.ndarray) -> list[int]:
    """Return the places of the largest weights, those far below the first left out."""
    first = np.argsort(-weights, kind="stable")[:N_COLOURS]
    return [int(c) for c in first if weights[c] > LEAST_WEIGHT * weights.max() > 0]


def _is_seen(mark: Mark, shows: np.ndarray, measures: np.ndarray | None) -> bool:
    """Whether a picture shows a mark, or lacks it where that is the mark."""
    if mark.threshold is not None:
        if measures is None or not np.isfinite(measures[mark.threshold.measure]):
            return False
        measure, sign, cut = mark.threshold
        return bool(sign * (measures[measure] - cut) > 0)
    return bool(shows[mark.column]) != mark.negated


def is_doubtful(mark: Mark, scores: np.ndarray) -> bool:
    """Whether a mark is a word that the network gives a picture, but not surely."""
    if mark.source != NETWORK or mark.column is None:
        return False
    return bool(YES <= scores[mark.column] < SURE)


def _find_box(mark: Mark, found: SubjectMap | None) -> Box | None:
    """Return where a mark is seen in a picture; None for the whole of it."""
    if found is None or mark.source in (SURROUNDINGS, PICTURE):
        return None
    return found.find_box(mark.colours, mark.part)


def _name_measures(compared: Iterable[tuple[Passed, int, float]]) -> Iterable[Mark]:
    for passed, sign, cut in compared:
        threshold = Threshold(passed.column, sign, cut)
        yield _to_mark(name_measure(passed.column, sign), passed, threshold=threshold)


def _to_mark(said: Column, passed: Passed, **where: Any) -> Mark:
    """Return what passed as a mark; ``where`` it is read: in a column, or beyond a threshold."""
    numbers = passed.n_own, passed.of_own, passed.n_other, passed.of_other
    return Mark(said.text, said.source, False, *numbers, said.colours, said.part, **where)


def _drop_alike(compared: Iterable[Mark], marks: Sequence[Mark]) -> Iterable[Mark]:
    """Yield one comparison of each sort: "paler above" says what "paler" says."""
    colours = {colour for mark in marks for colour in mark.colours}
    sorts: set[str] = set()
    for mark in compared:
        assert mark.threshold is not None
        measure = MEASURES[mark.threshold.measure]
        sort = measure.colour or mark.text.removesuffix(f" {measure.part}" if measure.part else "")
        is_said = measure.colour and repeats_colours((measure.colour,), colours)
        if sort not in sorts and not is_said:
            sorts.add(sort)
            yield mark
