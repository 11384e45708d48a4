"""How the pages word numbers, names and pictures: every turn of phrase in one place."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from fieldguide.guide.answer import Answer
from fieldguide.guide.dates import MONTHS
from fieldguide.guide.naming import LIKE, display_name, listed
from fieldguide.guide.pairs import KindPair
from fieldguide.guide.views import Branch, KeyPath, PathStep, QueryResult, SideWords, Specimen, Term

# How a kind is written: ``Guide.shown_name``.
Spell = Callable[[str], str]

CLOSE_CALL = 0.75  # a side less probable than this: one such specimen in four belongs elsewhere

MOST_BUT = 4  # kinds named that go a way though the words do not say so
MOST_NAMES = 6  # that a term of a query is said to mean
MEASURING = (  # the steps of a build in which pictures are read
    "opening the network",
    "recognising images",
    "reading images",
    "reading dates and places",
    "describing images",
    "looking closer",
    "waiting for a worker",
)
SOURCES = {
    "annotation": "Noted by the owner",
    "taught": "Taught by the owner",
    "keyword": "Keywords of the files",
    "folder": "Names of folders",
    "kind": "Names of kinds",
    "subject": "About the subject",
    "vocabulary": "Seen by the network, in words of the owner’s",
    "network": "Seen by the network",
    "surroundings": "About the surroundings",
    "picture": "About the picture",
}

_SURE = (
    (0.95, "almost certain"),
    (0.80, "confident"),
    (0.60, "fairly sure"),
    (0.40, "unsure"),
    (0.0, "little more than a guess"),
)
_MOST_TYPES = 8  # of files, named apart
_IRREGULAR = {"branch": "branches"}
_TREES = {
    "attribute": "Attribute Tree Process",
    "bernoulli": "FBLM, a tree of Bernoulli rates",
    "agglomerative": "Ward clustering of the words",
}


FOUND_NOTE = "a branch of the tree, found and not given: the collection has no labels"
_STRANGER = "perhaps none of these kinds", "hardly any specimen is so unlike all others"
_EMPTY = "perhaps nothing to see", "no subject stands out as one does in the specimens"


def count(number: int, noun: str) -> str:
    """Count things in words: ``"1 specimen"``, ``"1,204 specimens"``, ``"no specimens"``."""
    plural = _IRREGULAR.get(noun, noun + "s")
    if number == 0:
        return f"no {plural}"
    return f"{number:,} {noun if number == 1 else plural}"


def percent(share: float) -> str:
    """Write a share so that only what is whole reads as 0% or 100%."""
    if share <= 0:
        return "0%"
    if share >= 1:
        return "100%"
    if share < 0.005:
        return "under 1%"
    if share > 0.995:
        return "over 99%"
    return f"{100 * share:.0f}%"


def signed(number: float) -> str:
    """Write a margin: ``"+0.71"``, ``"−1.20"``."""
    return f"{'+' if number > 0 else '−'}{abs(number):.2f}"


def how_sure(probability: float) -> str:
    """Say a probability in words."""
    return next(phrase for least, phrase in _SURE if probability >= least or least == 0.0)


def tree_name(about: dict[str, Any]) -> str:
    """Name the method that grew a guide's tree."""
    grown = about.get("tree") or {}
    method = grown.get("method") or (about.get("settings") or {}).get("tree") or "unknown"
    return _TREES.get(method, method)


def word_tree(about: dict[str, Any]) -> list[tuple[str, str]]:
    """Say how the tree of a guide was grown: (what, how) in plain words."""
    grown = about.get("tree") or {}
    facts = [("Tree", tree_name(about))]
    if grown.get("because"):
        facts.append(("Why this tree", grown["because"]))
    if grown.get("n_words"):
        facts.append(("Grown from", count(grown["n_words"], "word")))
    if grown.get("n_sweeps"):
        chains, sweeps = count(grown["n_chains"], "chain"), count(grown["n_sweeps"], "sweep")
        begun, found = (count(grown[name], "branch") for name in ("n_start", "n_nodes"))
        facts.append(
            (
                "Sampled",
                f"{chains} of {sweeps}, begun at a clustering with {begun}; the best sample has "
                f"{found} before those without words are folded; the tree is what most samples say",
            )
        )
        facts.append(("Do chains agree", word_r_hat(grown.get("r_hat"))))
    if grown.get("n_by_likeness"):
        divided = count(grown["n_by_likeness"], "branch")
        facts.append(("By likeness", f"{divided} where no word divides further"))
    if grown.get("purity") is not None:
        facts.append(
            (
                "Beside the kinds",
                f"{percent(grown['purity'])} of specimens sit with the most frequent kind of their "
                f"branch; two of one kind are {-grown['locality']:.1f} steps apart on average",
            )
        )
    return facts


def word_truth(branch: Branch) -> str:
    """Say how often the name of a branch is true of its pictures."""
    share = percent(branch.truth)
    if not branch.is_likeness:
        return f"its name is true of about {share} of them"
    if not branch.words[0].startswith(LIKE):
        return "named by the kinds that it holds"
    return f"{share} of them are like what it is named after"


def word_stability(stability: float) -> str:
    """Say how far chains of samples agree on a branch."""
    return (
        f"Chains of samples agree on it to {percent(stability)}: as much of it, and of what "
        "each of them puts in its place, is the same."
    )


def word_r_hat(r_hat: float | None) -> str:
    """Say what the R-hat of the chains means."""
    if r_hat is None:
        return "not known"
    if r_hat < 1.1:
        return f"yes: R-hat of the joint density is {r_hat:.2f}, and under 1.1 is agreement"
    return (
        f"no: R-hat of the joint density is {r_hat:.1f}, and agreement is under 1.1; another seed "
        "gives a somewhat different tree"
    )


def is_close_call(probability: float) -> bool:
    """Whether the side taken at a couplet was little likelier than the other."""
    return probability < CLOSE_CALL


def word_path(path: KeyPath, answer: str, spell: Spell = display_name) -> str:
    """Say where a way through the key ended, who decided, and what the answer cost."""
    end = [spell(kind) for kind in path.end]
    ended = f"The likelier sides lead to {' or '.join(end[:6])}{' or others' if end[6:] else ''}"
    if len(end) > 1:
        ended += f", and the functions of these kinds decide for {spell(answer)}"
    elif path.end[0] != answer:
        ended += (
            ", but the key also looked down the other side of close calls, and the functions of "
            f"the kinds that it found there decide for {spell(answer)}"
        )
    asked = count(path.evaluations, "evaluation")
    return f"{ended}. The answer took {asked}; one-vs-all would take {path.one_vs_all:,}."


def word_unknown(answer: Answer) -> tuple[str, str]:
    """Say that a picture may be of no kind, and why; two empty texts where it is not so.

    Examples
    --------
    >>> from fieldguide.guide.answer import AnswerBranch
    >>> somewhere = AnswerBranch(0, "the whole collection")
    >>> word_unknown(Answer((), somewhere, none_of_these=True, nothing_to_see=True))[0]
    'perhaps none of these kinds, or nothing to see'
    """
    if answer.none_of_these and answer.nothing_to_see:
        return f"{_STRANGER[0]}, or nothing to see", f"{_STRANGER[1]}, and {_EMPTY[1]}"
    if answer.none_of_these:
        return _STRANGER
    return _EMPTY if answer.nothing_to_see else ("", "")


def word_group(group: Sequence[str], n_kinds: int, spell: Spell = display_name) -> str:
    """Say among which kinds the answer is nine times in ten; nothing where that is one kind.

    Examples
    --------
    >>> word_group(("wren", "robin"), 9)
    'Nine times in ten it is wren or robin.'
    """
    if len(group) < 2:
        return ""
    if len(group) == n_kinds:
        return "The key is too unsure here to say even a group of kinds nine times in ten."
    names = [spell(kind) for kind in group]
    *first, last = [*names[:6], f"one of {len(names) - 6} more"] if len(names) > 7 else names
    return f"Nine times in ten it is {', '.join(first)} or {last}."


def word_side(own: SideWords, other: SideWords, spell: Spell = display_name) -> str:
    """Say what tells one side of a couplet from the other; nothing where no words do.

    Examples
    --------
    >>> from fieldguide.guide.views import Word
    >>> cats, others = SideWords((Word("cat family", 0.9, 0.0),), ("beaver",)), SideWords()
    >>> word_side(cats, others), word_side(others, cats), word_side(others, others)
    ('cat family; also beaver', 'not so', '')
    """
    said = ", ".join(word.name for word in own.words) or ("not so" if other.words else "")
    if not said or not own.exceptions:
        return said
    more = [f"{len(own.exceptions) - MOST_BUT} more"] if len(own.exceptions) > MOST_BUT + 1 else []
    names = [spell(kind) for kind in own.exceptions]
    return f"{said}; also {listed([*names[: MOST_BUT if more else None], *more])}"


def word_step(step: PathStep) -> str:
    """Say what tells the side taken at a couplet from the other; nothing where no words do.

    Examples
    --------
    >>> from dataclasses import replace
    >>> step = PathStep(1, "plus", 0.4, 0.7, (), (), (), ("cat family",), ())
    >>> word_step(step), word_step(replace(step, side="minus"))
    ('not cat family', 'cat family')
    >>> word_step(replace(step, minus_words=("winged", "has a beak", "plump")))
    'none of winged, has a beak and plump'
    """
    taken, left = step.minus_words, step.plus_words
    if step.side == "plus":
        taken, left = left, taken
    if taken or not left:
        return ", ".join(taken)
    return f"none of {listed(left)}" if len(left) > 1 else f"not {left[0]}"


def word_confusion(pair: KindPair, spell: Spell = display_name) -> str:
    """Say how often the key takes one of two kinds for the other.

    Examples
    --------
    >>> word_confusion(KindPair("robin", "wren", 3, 24, 0, 20, ()))
    'Held out, the key takes 3 of 24 specimens of robin for wren, and none of 20 of wren for robin.'
    """
    kind, other = spell(pair.kind), spell(pair.other)
    if not pair.of_kind + pair.of_other:
        return "The key was not asked about their specimens."
    if not pair.n_taken + pair.n_other_taken:
        asked = count(pair.of_kind, "specimen")
        return (
            f"Held out, the key never takes one for the other: it was asked about {asked} of "
            f"{kind} and {pair.of_other:,} of {other}."
        )
    n, m = (f"{n:,}" if n else "none" for n in (pair.n_taken, pair.n_other_taken))
    return (
        f"Held out, the key takes {n} of {count(pair.of_kind, 'specimen')} of {kind} for {other}, "
        f"and {m} of {pair.of_other:,} of {other} for {kind}."
    )


def word_doubt(specimen: Specimen, spell: Spell = display_name) -> str:
    """Say what the key says of a specimen: "the key says wren, 48% sure"."""
    if specimen.answer is None:
        return "the key was not asked"
    sure = "" if specimen.confidence is None else f", {percent(specimen.confidence)} sure"
    if specimen.answer == specimen.kind:
        return f"the key agrees{sure}"
    return f"the key says {spell(specimen.answer)}{sure}"


def word_others(others: Mapping[str, int]) -> str:
    """Count files that are no pictures by how their names end, the most frequent first.

    Examples
    --------
    >>> word_others({".xml": 9000, ".csv": 600, "": 1})
    '9,601 files that are no pictures: .xml (9,000), .csv (600), without an ending (1)'
    """
    if not others:
        return ""
    total = sum(others.values())
    are = "file that is no picture" if total == 1 else "files that are no pictures"
    shown = sorted(others.items(), key=lambda pair: (-pair[1], pair[0]))[:_MOST_TYPES]
    named = [f"{suffix or 'without an ending'} ({n:,})" for suffix, n in shown]
    rest = len(others) - len(shown)
    more = [count(rest, "more type")] if rest else []
    return f"{total:,} {are}: {', '.join([*named, *more])}"


def name_source(source: str) -> str:
    """Say where words come from: the heading of a group of them."""
    return SOURCES.get(source) or f"{display_name(source)[:1].upper()}{display_name(source)[1:]}"


def rank_source(source: str) -> int:
    """Return the place of a source among others: what is said of the subject comes first."""
    order = list(SOURCES)
    return 2 * order.index(source) if source in order else 2 * order.index("surroundings") - 1


def describe_result(found: QueryResult) -> str:
    """Say how many specimens fit a query."""
    terms = [f"not {term.text}" if term.excludes else term.text for term in found.terms]
    if found.total or len(terms) == 1:
        begun = count(found.total, "specimen")
        return f"{begun[:1].upper()}{begun[1:]} for {', '.join(terms)}"
    alone = [f"{term.n_specimens:,}" for term in found.terms]
    listed_terms = [f"{text} ({n})" for text, n in zip(terms, alone, strict=True)]
    return f"No specimen fits all of {', '.join(listed_terms)}"


def word_term(term: Term, spell: Spell = display_name) -> str:
    """Say what a term of a query is taken for; nothing where it is as it is spelled."""
    if not term.how and term.form == "date":
        examples = listed([f"date:{text}" for text in term.suggestions])
        return f"“{term.text}” is no date; write one as in {examples}"
    if term.how == "date":
        return ""
    if term.how == "doubt":
        return "doubt: the key, when it has not seen the picture, says another kind"
    if not term.how:
        near = [spell(name) for name in term.suggestions]
        there = f"; there is {listed(near)}" if near else ""
        return f"no word, kind or file is like “{term.text}”{there}"
    if term.how == "file":
        return f"“{term.text}” is in the name of a file or folder"
    kinds = [spell(kind) for kind in term.kinds]
    names = [*term.words, *kinds]
    if len(names) == 1 and display_name(term.text) == names[0]:
        return ""
    parts = [_list_some(term.words)] if term.words else []
    if kinds:
        parts.append(f"the kind{'s' if len(kinds) > 1 else ''} {_list_some(kinds)}")
    return f"{term.text} → {' or '.join(parts)}"


def list_notes(found: QueryResult, spell: Spell = display_name) -> list[str]:
    """Say what the terms of a query are taken for, where it is not what they say."""
    return [note for term in found.terms if (note := word_term(term, spell))]


def _list_some(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def duration(seconds: float) -> str:
    """Say how long something took."""
    if seconds < 1:
        return "under a second"
    if seconds < 120:
        return count(round(seconds), "second")
    if seconds < 7200:
        return count(round(seconds / 60), "minute")
    return count(round(seconds / 3600), "hour")


def clip_time(seconds: float) -> str:
    """Write a time within a clip, or its length: ``"0:07.5"``, ``"1:02:03"``.

    >>> clip_time(7.46), clip_time(59.96), clip_time(3723)
    ('0:07.5', '1:00.0', '1:02:03')
    """
    if seconds >= 600:
        minutes, whole = divmod(round(seconds), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02d}:{whole:02d}" if hours else f"{minutes}:{whole:02d}"
    minutes, tenths = divmod(round(10 * seconds), 600)
    return f"{minutes}:{tenths / 10:04.1f}"


def moment(iso: str) -> str:
    """Write a moment as a colophon does: ``"15 November 2026, 08:30 UTC"``."""
    try:
        when = datetime.fromisoformat(iso).astimezone(UTC)
    except ValueError:
        return iso
    return f"{when.day} {MONTHS[when.month - 1]} {when.year}, {when:%H:%M} UTC"


def word_update(about: Mapping[str, Any]) -> str:
    """Say what a build measured, what it knew, and what it fitted again; "" for a first build."""
    update, took = about.get("update"), about.get("step_seconds") or {}
    if not update:
        return ""
    told = [
        f"{count(update['measured'], 'picture')} measured",
        f"{update['kept']:,} known already",
        f"{update['moved']:,} recognised under another name" if update["moved"] else "",
        f"{update['gone']:,} gone" if update["gone"] else "",
    ]
    sentence = f"{', '.join(filter(None, told))}.".capitalize()
    measuring = sum(took.get(step, 0.0) for step in MEASURING)
    fitting = sum(took.values()) - measuring
    if not took:
        return sentence
    return (
        f"{sentence} Measuring took {duration(measuring)}; words, tree, key and all that follows "
        f"from them were fitted again, in {duration(fitting)}."
    )


def word_steps(about: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the steps of a build with how long each took, the longest first.

    ``[("reading images", "5.9 s, 12 %"), …]``; steps of less than a twentieth of a second are left
    out, but for the longest of all.
    """
    took = about.get("step_seconds") or {}
    total = sum(took.values()) or 1.0
    steps = sorted(took.items(), key=lambda each: (-each[1], each[0]))
    return [
        (step, f"{seconds:,.1f} s, {100 * seconds / total:.0f} %")
        for rank, (step, seconds) in enumerate(steps)
        if rank == 0 or seconds >= 0.05
    ]


def word_date(iso: str) -> str:
    """Write when a picture was taken: ``"3 May 2021, 14:07 (UTC+02:00)"``."""
    try:
        when = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    day = f"{when.day} {MONTHS[when.month - 1]} {when.year}"
    if len(iso) <= 10:
        return day
    offset = iso[19:]
    return f"{day}, {when:%H:%M}" + (f" (UTC{offset})" if offset else "")


def word_place(latitude: float, longitude: float) -> str:
    """Write where a picture was taken: ``"47.6600° N, 9.1750° E"``."""
    sides = "N" if latitude >= 0 else "S", "E" if longitude >= 0 else "W"
    return f"{abs(latitude):.4f}° {sides[0]}, {abs(longitude):.4f}° {sides[1]}"


def alternative_text(kind: str | None, words: Sequence[str], otherwise: str) -> str:
    """Describe a picture, of a kind as it is shown, to someone who does not see it.

    ``"red-crested finch: winged, red cap"``; the kind or the words alone where the other is
    missing; ``otherwise`` where both are.
    """
    shown = ", ".join(words)
    if kind is None:
        return shown or otherwise
    return f"{kind}: {shown}" if shown else kind
