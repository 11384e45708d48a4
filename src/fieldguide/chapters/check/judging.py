"""From what a build measured to what needs a look: limits, and sentences.

The limits of pictures are the same for every collection, but for the subject's: how sure a finder
of subjects is means little by itself, so that a picture is compared with the others.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from fieldguide._languages import say, say_count
from fieldguide.chapters.check.copies import Copies, group_copies
from fieldguide.chapters.check.labels import Doubts
from fieldguide.chapters.check.records import PROBLEMS, Finding
from fieldguide.guide.naming import listed
from fieldguide.guide.views import Kind, Specimen, Unreadable

Shown = Callable[[str], str]  # how a kind is written for people
LEAST_SHARPNESS = 0.4  # of Caltech-101 1 %, blurred by 1 px of 160 or more 98 %
LEAST_BRIGHTEST = 80.0  # luma of 255
LEAST_PX = 64  # of the shorter side
# Below the median, in units of how far the upper quartile is above it. Nearly no picture of CUB-200
# and Caltech-101 is so far below, and four in five of strips of CUB-200 without the bird are.
MOST_BELOW = 7.0
LEAST_SPREAD = 0.01  # of that distance, where many pictures are the same
FEWEST = 5  # specimens of a kind: a fold each
ALIKE_ERROR, ALIKE_SURE = 0.25, 0.9  # of the answers about two kinds, and how sure of that
_EXACT = 0.9995  # likeness from which on nothing is said of it


def judge_labels(
    specimens: Sequence[Specimen], doubts: Doubts, kinds: Sequence[str], shown: Shown
) -> list[Finding]:
    """Return the labels that are doubted."""
    found = []
    for i in np.flatnonzero(doubts.is_listed).tolist():
        kind, answer = specimens[i].kind, kinds[doubts.other[i]]
        if kind is None:
            continue
        names = {"kind": shown(kind), "answer": shown(answer)}
        if specimens[i].answer == answer:
            told = say(
                "labelled %(kind)s; the key, which has not seen it, says %(answer)s", **names
            )
        else:
            told = say("labelled %(kind)s; the other specimens speak for %(answer)s", **names)
        found.append(
            Finding(
                specimens[i].path,
                "label",
                told,
                float(doubts.doubt[i]),
                i,
                (kind, answer),
            )
        )
    return found


def judge_copies(specimens: Sequence[Specimen], copies: Copies, shown: Shown) -> list[Finding]:
    """Return the copies, group by group; the first of a group is what the others are copies of."""
    links: dict[int, list[Link]] = {}
    for (i, j), likeness, mirrored in zip(*(part.tolist() for part in copies), strict=True):
        links.setdefault(i, []).append(Link(j, likeness, mirrored))
        links.setdefault(j, []).append(Link(i, likeness, mirrored))
    found = []
    for group in group_copies(len(specimens), copies.pairs):
        for i in group[1:]:
            # The first of the group, or what it is most like: not all need be like the first.
            link = max(links[i], key=lambda link: (link.other == group[0], link.likeness))
            found.append(
                Finding(
                    specimens[i].path,
                    "copy",
                    _word_copy(specimens[i], specimens[link.other], link, shown),
                    min(link.likeness, 1.0),
                    i,
                    tuple(sorted({k for j in group if (k := specimens[j].kind) is not None})),
                    tuple(j for j in group if j != i),
                )
            )
    return found


class Link(NamedTuple):
    """A specimen that another is a copy of."""

    other: int
    likeness: float
    is_mirrored: bool


def _word_copy(own: Specimen, other: Specimen, link: Link, shown: Shown) -> str:
    if link.likeness >= _EXACT:
        told = say("the same picture as %(file)s", file=other.path)
    else:
        told = say("nearly the same picture as %(file)s", file=other.path)
    if link.is_mirrored:
        told += ", " + say("mirrored")
    if None not in (own.kind, other.kind) and own.kind != other.kind:
        here, there = shown(str(own.kind)), shown(str(other.kind))
        told += "; " + say(
            "labelled %(here)s here and %(there)s there, and one is wrong", here=here, there=there
        )
    return told


def judge_pictures(
    specimens: Sequence[Specimen], sharpness: np.ndarray, brightest: np.ndarray
) -> list[Finding]:
    """Return the pictures that are blurred, dark or tiny."""
    found = []
    for each, sharp, bright in zip(specimens, sharpness, brightest, strict=True):
        if bright < LEAST_BRIGHTEST:
            found.append(
                Finding(
                    each.path,
                    "dark",
                    say("99 of 100 pixels are darker than %(bright)s of 255", bright=round(bright)),
                    _below(bright, LEAST_BRIGHTEST),
                    each.id,
                )
            )
        elif sharp < LEAST_SHARPNESS:  # of a dark picture, nothing can be said of its detail
            found.append(
                Finding(
                    each.path,
                    "blurred",
                    say(
                        "its finest detail has %(share)s%% of the strength of coarser detail",
                        share=f"{100 * sharp:.0f}",
                    ),
                    _below(sharp, LEAST_SHARPNESS),
                    each.id,
                )
            )
        if min(each.width, each.height) < LEAST_PX:
            size = say(
                "%(width)s × %(height)s pixels", width=str(each.width), height=str(each.height)
            )
            found.append(Finding(each.path, "tiny", size, 1.0, each.id))
    return found


def judge_subjects(
    specimens: Sequence[Specimen], confidence: np.ndarray, *, can_compare: bool
) -> list[Finding]:
    """Return the pictures in which nothing stands out, and those where far less does than usual.

    The latter where there are enough pictures to compare with. What is usual is told by the upper
    half alone: the lower one may be full of empty pictures.
    """
    least = 0.0
    if can_compare:
        middle, upper = np.quantile(confidence, [0.5, 0.75])
        least = max(0.0, float(middle - MOST_BELOW * max(upper - middle, LEAST_SPREAD)))
    found = []
    for i in np.flatnonzero((confidence < least) | (confidence <= 0)).tolist():
        told, sure = (
            say("far less stands out in it than in the others"),
            _below(confidence[i], least),
        )
        if confidence[i] <= 0:
            told, sure = say("nothing stands out in it"), 1.0
        found.append(Finding(specimens[i].path, "no subject", told, sure, i))
    return found


def judge_kinds(
    kinds: Sequence[Kind], confusions: Sequence[tuple[str, str, int]], shown: Shown
) -> list[Finding]:
    """Return the kinds with too few specimens, and pairs that cannot be told apart."""
    few = [
        Finding(
            kind.name,
            "few",
            say_count(
                "%(kind)s has %(n)s specimen; the key learns and is judged by %(fewest)s or more",
                "%(kind)s has %(n)s specimens; the key learns and is judged by %(fewest)s or more",
                kind.count,
                kind=shown(kind.name),
                fewest=FEWEST,
            ),
            1.0,
            kind.exemplars[0] if kind.exemplars else None,
            (kind.name,),
        )
        for kind in kinds
        if kind.count < FEWEST
    ]
    return few + _judge_alike(kinds, confusions, shown)


def _judge_alike(
    kinds: Sequence[Kind], confusions: Sequence[tuple[str, str, int]], shown: Shown
) -> list[Finding]:
    """Return pairs of kinds between which the key errs more than a quarter of the time.

    Of the held-out specimens of A that are called A or B, a share is called B, and the other way
    round; each share has the posterior of a prior of one error in four. The mean of the two shares
    must exceed a quarter with a probability of 0.9 (by the normal approximation).
    """
    named = {kind.name: kind for kind in kinds}
    wrong = {(kind, said): n for kind, said, n in confusions if {kind, said} <= set(named)}
    found = []
    for a, b in sorted({tuple(sorted(pair)) for pair in wrong}):
        shares, variances, told = [], [], []
        for kind, other in ((a, b), (b, a)):
            n_wrong = wrong.get((kind, other), 0)
            n_right = round((named[kind].recall or 0.0) * named[kind].count)
            alpha, beta = n_wrong + 1, n_right + 3
            shares.append(alpha / (alpha + beta))
            variances.append(alpha * beta / ((alpha + beta) ** 2 * (alpha + beta + 1)))
            told.append(
                say(
                    "%(wrong)s of %(n)s %(kind)s as %(other)s",
                    wrong=n_wrong,
                    n=named[kind].count,
                    kind=shown(kind),
                    other=shown(other),
                )
            )
        mean, deviation = sum(shares) / 2, (sum(variances) / 4) ** 0.5
        sure = float(ndtr((mean - ALIKE_ERROR) / deviation))
        if sure >= ALIKE_SURE:
            sentence = say("the key, held out, takes %(what)s", what=listed(told))
            first = next(iter(named[a].exemplars), None)
            found.append(Finding(a, "alike", sentence, sure, first, (a, b)))
    return found


def judge_files(unreadable: Sequence[Unreadable]) -> list[Finding]:
    """Return the files that could not be read."""
    return [Finding(each.path, "unreadable", each.reason, 1.0) for each in unreadable]


def order_findings(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return findings problem by problem, the most certain first; groups of copies together."""
    places = {problem: k for k, problem in enumerate(PROBLEMS)}

    def rank(finding: Finding) -> tuple[object, ...]:
        if finding.problem == "copy":
            assert finding.specimen is not None
            return places["copy"], min(finding.specimen, *finding.others), finding.path
        return places[finding.problem], -finding.confidence, finding.path

    return tuple(sorted(findings, key=rank))


def _below(value: float, limit: float) -> float:
    """Return how far a value lies below a limit, as a share of it."""
    return float(np.clip(1 - value / limit, 0, 1)) if limit > 0 else 1.0
