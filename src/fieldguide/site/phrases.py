"""How the pages word numbers, names and pictures: every turn of phrase in one place."""

from collections.abc import Callable, Sequence

from fieldguide._languages import grouped, message, messages, say, say_count
from fieldguide.guide.answer import Answer
from fieldguide.guide.naming import LIKE, display_name, either, listed
from fieldguide.guide.pairs import KindPair
from fieldguide.guide.views import Branch, KeyPath, PathStep, QueryResult, SideWords, Specimen, Term

# How a kind is written: ``Guide.shown_name``.
Spell = Callable[[str], str]

CLOSE_CALL = 0.75  # a side less probable than this: one such specimen in four belongs elsewhere

MOST_BUT = 4  # kinds named that go a way though the words do not say so
MOST_NAMES = 6  # that a term of a query is said to mean
SOURCES = {
    "annotation": message("Noted by the owner"),
    "taught": message("Taught by the owner"),
    "keyword": message("Keywords of the files"),
    "folder": message("Names of folders"),
    "kind": message("Names of kinds"),
    "subject": message("About the subject"),
    "vocabulary": message("Seen by the network, in words of the owner’s"),
    "network": message("Seen by the network"),
    "surroundings": message("About the surroundings"),
    "picture": message("About the picture"),
}

_SURE = (
    (0.95, message("almost certain")),
    (0.80, message("confident")),
    (0.60, message("fairly sure")),
    (0.40, message("unsure")),
    (0.0, message("little more than a guess")),
)
# What is counted: none of them, one, many.
NOUNS = {
    "branch": (message("no branches"), *messages("%(n)s branch", "%(n)s branches")),
    "chain": (message("no chains"), *messages("%(n)s chain", "%(n)s chains")),
    "character": (message("no characters"), *messages("%(n)s character", "%(n)s characters")),
    "clip": (message("no clips"), *messages("%(n)s clip", "%(n)s clips")),
    "couplet": (message("no couplets"), *messages("%(n)s couplet", "%(n)s couplets")),
    "file": (message("no files"), *messages("%(n)s file", "%(n)s files")),
    "hour": (message("no hours"), *messages("%(n)s hour", "%(n)s hours")),
    "kind": (message("no kinds"), *messages("%(n)s kind", "%(n)s kinds")),
    "line": (message("no lines"), *messages("%(n)s line", "%(n)s lines")),
    "minute": (message("no minutes"), *messages("%(n)s minute", "%(n)s minutes")),
    "more confusion": (
        message("no more confusions"),
        *messages("%(n)s more confusion", "%(n)s more confusions"),
    ),
    "more kind": (message("no more kinds"), *messages("%(n)s more kind", "%(n)s more kinds")),
    "more mark": (message("no more marks"), *messages("%(n)s more mark", "%(n)s more marks")),
    "more pair": (message("no more pairs"), *messages("%(n)s more pair", "%(n)s more pairs")),
    "more place": (message("no more places"), *messages("%(n)s more place", "%(n)s more places")),
    "more type": (message("no more types"), *messages("%(n)s more type", "%(n)s more types")),
    "more way": (message("no more ways"), *messages("%(n)s more way", "%(n)s more ways")),
    "pair": (message("no pairs"), *messages("%(n)s pair", "%(n)s pairs")),
    "pattern": (message("no patterns"), *messages("%(n)s pattern", "%(n)s patterns")),
    "picture": (message("no pictures"), *messages("%(n)s picture", "%(n)s pictures")),
    "second": (message("no seconds"), *messages("%(n)s second", "%(n)s seconds")),
    "specimen": (message("no specimens"), *messages("%(n)s specimen", "%(n)s specimens")),
    "sweep": (message("no sweeps"), *messages("%(n)s sweep", "%(n)s sweeps")),
    "word": (message("no words"), *messages("%(n)s word", "%(n)s words")),
}


FOUND_NOTE = message("a branch of the tree, found and not given: the collection has no labels")
_STRANGER = (
    message("perhaps none of these kinds"),
    message("hardly any specimen is so unlike all others"),
)
_EMPTY = (
    message("perhaps nothing to see"),
    message("no subject stands out as one does in the specimens"),
)


def count(number: int, noun: str) -> str:
    """Count things in words: ``"1 specimen"``, ``"1,204 specimens"``, ``"no specimens"``."""
    none, one, many = NOUNS[noun]
    return say_count(one, many, number) if number else say(none)


def begin(text: str) -> str:
    """Write a text as the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def percent(share: float) -> str:
    """Write a share so that only what is whole reads as 0% or 100%."""
    if 0 < share < 0.005:
        return say("under 1%%")
    if 0.995 < share < 1:
        return say("over 99%%")
    return say("%(number)s%%", number=f"{100 * min(max(share, 0.0), 1.0):.0f}")


def signed(number: float) -> str:
    """Write a margin: ``"+0.71"``, ``"−1.20"``."""
    return f"{'+' if number > 0 else '−'}{grouped(abs(number), 2)}"


def how_sure(probability: float) -> str:
    """Say a probability in words."""
    return say(next(phrase for least, phrase in _SURE if probability >= least or least == 0.0))


def word_truth(branch: Branch) -> str:
    """Say how often the name of a branch is true of its pictures."""
    share = percent(branch.truth)
    if not branch.is_likeness:
        return say("its name is true of about %(share)s of them", share=share)
    if not branch.words[0].startswith(LIKE):
        return say("named by the kinds that it holds")
    return say("%(share)s of them are like what it is named after", share=share)


def says_kinds(branch: Branch, kinds: Sequence[str]) -> bool:
    """Whether the name of a branch says already which kinds it holds.

    Examples
    --------
    >>> from types import SimpleNamespace as Named
    >>> says_kinds(Named(words=("robin and wren",), is_likeness=True), ["wren", "robin"])
    True
    >>> says_kinds(Named(words=("owl", "white"), is_likeness=False), ["owl"])
    False
    """
    name = ", ".join(branch.words)
    if branch.is_likeness:
        return all(kind in name for kind in kinds)
    return not kinds or list(kinds) == [name]


def word_stability(stability: float) -> str:
    """Say how far chains of samples agree on a branch."""
    return say(
        "Stability %(share)s: its mean overlap with the branch that is most like it in each chain "
        "of samples.",
        share=percent(stability),
    )


def is_close_call(probability: float) -> bool:
    """Whether the side taken at a couplet was little likelier than the other."""
    return probability < CLOSE_CALL


def word_path(path: KeyPath, answer: str, spell: Spell = display_name) -> str:
    """Say where a way through the key ended, who decided, and what the answer cost."""
    end = [spell(kind) for kind in path.end]
    ends = either([*end[:6], *([say("others")] if end[6:] else [])])
    if len(end) > 1:
        ended = say(
            "The likelier sides lead to %(ends)s, and the functions of these kinds decide for "
            "%(answer)s.",
            ends=ends,
            answer=spell(answer),
        )
    elif path.end[0] != answer:
        ended = say(
            "The likelier sides lead to %(ends)s, but the key also looked down the other side of "
            "close calls, and the functions of the kinds that it found there decide for "
            "%(answer)s.",
            ends=ends,
            answer=spell(answer),
        )
    else:
        ended = say("The likelier sides lead to %(ends)s.", ends=ends)
    asked = say_count(
        "The answer took %(n)s evaluation; one-vs-all would take %(all)s.",
        "The answer took %(n)s evaluations; one-vs-all would take %(all)s.",
        path.evaluations,
        all=path.one_vs_all,
    )
    return f"{ended} {asked}"


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
        because = say("%(this)s, and %(that)s", this=say(_STRANGER[1]), that=say(_EMPTY[1]))
        return say("perhaps none of these kinds, or nothing to see"), because
    if answer.none_of_these:
        return say(_STRANGER[0]), say(_STRANGER[1])
    return (say(_EMPTY[0]), say(_EMPTY[1])) if answer.nothing_to_see else ("", "")


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
        return say("The key is too unsure here to say even a group of kinds nine times in ten.")
    names = [spell(kind) for kind in group]
    if len(names) > 7:
        names = [*names[:6], say("one of %(n)s more", n=len(names) - 6)]
    return say("Nine times in ten it is %(kinds)s.", kinds=either(names))


def word_side(own: SideWords, other: SideWords, spell: Spell = display_name) -> str:
    """Say what tells one side of a couplet from the other; nothing where no words do.

    Examples
    --------
    >>> from fieldguide.guide.views import Word
    >>> cats, others = SideWords((Word("cat family", 0.9, 0.0),), ("beaver",)), SideWords()
    >>> word_side(cats, others), word_side(others, cats), word_side(others, others)
    ('cat family; also beaver', 'not so', '')
    """
    said = ", ".join(word.name for word in own.words) or (say("not so") if other.words else "")
    if not said or not own.exceptions:
        return said
    names = [spell(kind) for kind in own.exceptions]
    if len(names) > MOST_BUT + 1:
        n_more = len(names) - MOST_BUT
        names = [*names[:MOST_BUT], say_count("%(n)s more", "%(n)s more", n_more)]
    return say("%(words)s; also %(kinds)s", words=said, kinds=listed(names))


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
    if len(left) > 1:
        return say("none of %(words)s", words=listed(left))
    return say("not %(word)s", word=left[0])


def word_confusion(pair: KindPair, spell: Spell = display_name) -> str:
    """Say how often the key takes one of two kinds for the other.

    Examples
    --------
    >>> word_confusion(KindPair("robin", "wren", 3, 24, 0, 20, ()))
    'Held out, the key takes 3 of 24 specimens of robin for wren, and none of 20 of wren for robin.'
    """
    kind, other = spell(pair.kind), spell(pair.other)
    if not pair.of_kind + pair.of_other:
        return say("The key was not asked about their specimens.")
    known = {"kind": kind, "other": other, "m": pair.of_other}
    if not pair.n_taken + pair.n_other_taken:
        return say_count(
            "Held out, the key never takes one for the other: it was asked about %(n)s specimen of "
            "%(kind)s and %(m)s of %(other)s.",
            "Held out, the key never takes one for the other: it was asked about %(n)s specimens "
            "of %(kind)s and %(m)s of %(other)s.",
            pair.of_kind,
            **known,
        )
    taken, back = (grouped(n) if n else say("none") for n in (pair.n_taken, pair.n_other_taken))
    return say_count(
        "Held out, the key takes %(taken)s of %(n)s specimen of %(kind)s for %(other)s, and "
        "%(back)s of %(m)s of %(other)s for %(kind)s.",
        "Held out, the key takes %(taken)s of %(n)s specimens of %(kind)s for %(other)s, and "
        "%(back)s of %(m)s of %(other)s for %(kind)s.",
        pair.of_kind,
        taken=taken,
        back=back,
        **known,
    )


def word_doubt(specimen: Specimen, spell: Spell = display_name) -> str:
    """Say what the key says of a specimen: "the key says wren, 48% sure"."""
    if specimen.answer is None:
        return say("the key was not asked")
    is_agreed, kind = specimen.answer == specimen.kind, spell(specimen.answer)
    if specimen.confidence is None:
        return say("the key agrees") if is_agreed else say("the key says %(kind)s", kind=kind)
    share = percent(specimen.confidence)
    if is_agreed:
        return say("the key agrees, %(share)s sure", share=share)
    return say("the key says %(kind)s, %(share)s sure", kind=kind, share=share)


def name_source(source: str) -> str:
    """Say where words come from: the heading of a group of them."""
    return say(SOURCES[source]) if source in SOURCES else begin(display_name(source))


def rank_source(source: str) -> int:
    """Return the place of a source among others: what is said of the subject comes first."""
    order = list(SOURCES)
    return 2 * order.index(source) if source in order else 2 * order.index("surroundings") - 1


def describe_result(found: QueryResult) -> str:
    """Say how many specimens fit a query."""
    terms = [f"not {term.text}" if term.excludes else term.text for term in found.terms]
    if found.total or len(terms) == 1:
        return f"{begin(count(found.total, 'specimen'))} for {', '.join(terms)}"
    alone = [f"{term.n_specimens:,}" for term in found.terms]
    listed_terms = [f"{text} ({n})" for text, n in zip(terms, alone, strict=True)]
    return f"No specimen fits all of {', '.join(listed_terms)}"


def word_term(term: Term, spell: Spell = display_name) -> str:
    """Say what a term of a query is taken for; nothing where it is as it is spelled."""
    if not term.how and term.form == "date":
        examples = listed([f"date:{text}" for text in term.suggestions])
        return say(
            "“%(term)s” is no date; write one as in %(examples)s",
            term=term.text,
            examples=examples,
        )
    if term.how == "date":
        return ""
    if term.how == "doubt":
        return say("doubt: the key, when it has not seen the picture, says another kind")
    if not term.how:
        near = [spell(name) for name in term.suggestions]
        if near:
            return say(
                "no word, kind or file is like “%(term)s”; there is %(names)s",
                term=term.text,
                names=listed(near),
            )
        return say("no word, kind or file is like “%(term)s”", term=term.text)
    if term.how == "file":
        return say("“%(term)s” is in the name of a file or folder", term=term.text)
    kinds = [spell(kind) for kind in term.kinds]
    names = [*term.words, *kinds]
    if len(names) == 1 and display_name(term.text) == names[0]:
        return ""
    parts = [_list_some(term.words)] if term.words else []
    if kinds:
        parts.append(
            say_count(
                "the kind %(names)s", "the kinds %(names)s", len(kinds), names=_list_some(kinds)
            )
        )
    return f"{term.text} → {either(parts)}"


def list_notes(found: QueryResult, spell: Spell = display_name) -> list[str]:
    """Say what the terms of a query are taken for, where it is not what they say."""
    return [note for term in found.terms if (note := word_term(term, spell))]


def _list_some(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMES
    shown = ", ".join(names[:MOST_NAMES])
    if more <= 0:
        return shown
    return say_count("%(names)s and %(n)s more", "%(names)s and %(n)s more", more, names=shown)


def alternative_text(kind: str | None, words: Sequence[str], otherwise: str) -> str:
    """Describe a picture, of a kind as it is shown, to someone who does not see it.

    ``"red-crested finch: winged, red cap"``; the kind or the words alone where the other is
    missing; ``otherwise`` where both are.
    """
    shown = ", ".join(words)
    if kind is None:
        return shown or otherwise
    return f"{kind}: {shown}" if shown else kind
