"""The owner's words: keywords and captions, the names of folders, and what names of kinds share.

=======  =========================================================================================
keyword  as the owner wrote it, from the file, a caption or the sidecar
folder   a word in the name of a folder that is not the kind
kind     the part of its name that says what it is, where several kinds share it: "Cape May
         Warbler" and "Palm Warbler" are *warbler*, "cougar_body" and "cougar_face" *cougar*
=======  =========================================================================================

One idea is one word: "animal", "Animals" and "animals" are one column, written as the owner does
most often, and said of all images that any source says it of. Two forms are one idea when
`stem_word` of them is equal.

Who gives no keywords to an image says nothing of it: there, the network's word of the same idea
stands in the owner's column (`fill_silent`).

Which part of a name says what a thing is: in English the last word, less a part of the body or a
state ("face", "female"); in names of two words that mostly end as Latin ones do, the first, which
is the genus. Other words describe it (a *black-footed albatross* is not black, a *house sparrow* no
house) and give no words of their own.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from fieldguide.collection.layout import is_camera

OWN_SOURCES = ("keyword", "folder", "kind")
_LEAST_KINDS = 2
_JUNK = frozenset(
    """
    all an and copy data dataset datasets dcim dsc dscn files folder image images img imgs in
    jpeg jpegs jpg misc new of other photo photos pic pics picture pictures png set sets split
    temp test testing the tmp train training unsorted untitled val valid validation
    """.split()  # noqa: SIM905 - words are easier to read and extend without quotes
)
# What the last words of a name may say of the thing named before them.
_STATES = frozenset(
    """
    adult back body bottom easy face female front head immature juvenile male profile rear side top
    """.split()  # noqa: SIM905
)
_LATIN = re.compile(r".+(us|um|is|ae|a|i|ns|oides)")
_LATIN_SHARE = 0.7
_IRREGULAR = {
    **{"men": "man", "children": "child", "feet": "foot", "geese": "goose", "mice": "mouse"},
    **{"oxen": "ox", "people": "person", "teeth": "tooth", "women": "woman", "lice": "louse"},
    **{"calves": "calf", "elves": "elf", "halves": "half", "hooves": "hoof", "knives": "knife"},
    **{"leaves": "leaf", "lives": "life", "loaves": "loaf", "scarves": "scarf"},
    **{"shelves": "shelf", "thieves": "thief", "wives": "wife", "wolves": "wolf"},
    **{"cacti": "cactus", "fungi": "fungus", "larvae": "larva", "pupae": "pupa", "algae": "alga"},
}
# Without a singular, or with one that means something else: glass is no glasses.
_SAME = frozenset(
    """
    always atlas binoculars canvas christmas gas glasses lens news pants perhaps series scissors
    species trousers weights
    """.split()  # noqa: SIM905
)


class OwnWords(NamedTuple):
    """Columns of one source, by name: 1 where the owner says the word of an image."""

    source: str
    names: Sequence[str]
    scores: np.ndarray  # (n, len(names)), float32


def find_own_words(
    n: int,
    *,
    paths: Sequence[str] | None = None,
    kinds: Sequence[str | None] | None = None,
    keywords: Sequence[Iterable[str]] | None = None,
    kind_words: bool = False,
    least: float = 1,
) -> list[OwnWords]:
    """Return what the owner says of ``n`` images, each idea once.

    Parameters
    ----------
    n : int
    paths : sequence of n paths relative to the collection, optional
    kinds : sequence of n names, optional
        None for an image without a kind. Without ``kinds``, the folder that holds an image is
        taken for its kind.
    keywords : sequence of n collections of str, optional
    kind_words : bool
        Whether a folder that carries the name of the kind gives words too.
    least : float
        Words that are said of fewer images are left out: captions hold many that nobody repeats.

    Examples
    --------
    >>> for words in find_own_words(2, keywords=[["Herons"], ["heron", "dusk"]], paths=["a", "b"]):
    ...     print(words.source, words.names, words.scores.tolist())
    keyword ('Herons', 'dusk') [[1.0, 0.0], [1.0, 1.0]]
    """
    said: dict[str, list[set[str]]] = {}
    if keywords is not None:
        said["keyword"] = [_tidy(words) for words in keywords]
    if paths is not None:
        said["folder"] = _split_folders(paths, kinds, kind_words)
    if kinds is not None:
        parts = share_parts({kind for kind in kinds if kind is not None})
        said["kind"] = [set() if kind is None else parts[kind] for kind in kinds]
    ideas: dict[str, _Idea] = {}
    for source, words_of in said.items():
        rows_of: dict[str, list[int]] = {}
        for i, words in enumerate(words_of):
            for word in words:
                rows_of.setdefault(word, []).append(i)
        for word in sorted(rows_of):
            idea = ideas.setdefault(stem_word(word), _Idea(source, {}, set()))
            idea.rows.update(rows_of[word])
            if idea.source == source:
                idea.forms[word] = len(rows_of[word])
    found = []
    for source in said:
        own = [idea for idea in ideas.values() if idea.source == source]
        named = {idea.name: sorted(idea.rows) for idea in own if len(idea.rows) >= least}
        if not named:
            continue
        scores = np.zeros((n, len(named)), np.float32)
        for k, name in enumerate(sorted(named)):
            scores[named[name], k] = 1
        found.append(OwnWords(source, tuple(sorted(named)), scores))
    return found


def fill_silent(
    own: OwnWords, keywords: Sequence[Iterable[str]], names: Sequence[str], scores: np.ndarray
) -> OwnWords:
    """Return keywords with another source's scores in rows where the owner gives none.

    Parameters
    ----------
    own : OwnWords
        Those of another source than keywords are returned as they are.
    keywords : sequence of n collections of str
    names : sequence of D words
        Of the other source; only those that are an idea of ``own`` are used.
    scores : ndarray of shape (n, D)
    """
    if own.source != "keyword":
        return own
    place = {stem_word(name): k for k, name in enumerate(names)}
    silent = [i for i, words in enumerate(keywords) if not words]
    filled = own.scores.copy()
    for j, name in enumerate(own.names):
        if stem_word(name) in place:
            filled[silent, j] = scores[silent, place[stem_word(name)]]
    return own._replace(scores=filled)


def correct_words(
    parts: Sequence[tuple[str, Sequence[str], np.ndarray]],
    corrected: Mapping[int, Mapping[str, bool]],
) -> list[tuple[str, Sequence[str], np.ndarray]]:
    """Return the words of all sources with what the owner has said of single images since.

    Parameters
    ----------
    parts : sequence of (source, names of D words, scores of shape (n, D))
    corrected : mapping of int to (mapping of str to bool)
        Of an image, which words it shows and which it does not. A word that no source has becomes
        a keyword.
    """
    fixed = [(source, names, np.array(scores, np.float32)) for source, names, scores in parts]
    known = {stem_word(name) for _, names, _ in fixed for name in names}
    n = len(fixed[0][2]) if fixed else max(corrected) + 1
    said = sorted({w for words in corrected.values() for w in words if stem_word(w) not in known})
    new = list({stem_word(word): word for word in reversed(said)}.values())[::-1]
    if new:
        fixed.append(("keyword", new, np.zeros((n, len(new)), np.float32)))
    for _, names, scores in fixed:
        place: dict[str, list[int]] = {}
        for k, name in enumerate(names):
            place.setdefault(stem_word(name), []).append(k)
        for i, words in corrected.items():
            for word, is_shown in words.items():
                scores[i, place.get(stem_word(word), [])] = float(is_shown)
    return fixed


class _Idea(NamedTuple):
    """A word in all its forms."""

    source: str  # the first that says it
    forms: dict[str, int]  # of that source, with the number of images
    rows: set[int]  # images of which any source says it

    @property
    def name(self) -> str:
        """The form that the owner uses most."""
        return min(self.forms, key=lambda form: (-self.forms[form], form))


def stem_word(word: str) -> str:
    """Return what two forms of one word have in common: singular or plural, upper or lower case.

    The result need not be a word.

    Examples
    --------
    >>> stem_word("Butterflies") == stem_word("butterfly")
    True
    >>> [stem_word(word) for word in ("buses", "bus", "Birds_of prey", "geese", "grass", "pines")]
    ['bus', 'bus', 'bird of prey', 'goos', 'grass', 'pine']
    """
    return " ".join(_stem(part) for part in re.split(r"[\s_-]+", word.lower()) if part) or word


def share_parts(kinds: Iterable[str]) -> dict[str, set[str]]:
    """Return, for each name of a kind, the word that says what it is where others have it too.

    Examples
    --------
    >>> parts = share_parts(["046.Cape_May_Warbler", "Palm_Warbler", "White_eyed_Vireo"])
    >>> parts["046.Cape_May_Warbler"], parts["White_eyed_Vireo"]
    ({'warbler'}, set())
    """
    split = {kind: _split_name(kind) for kind in kinds}
    pairs = [words for words in split.values() if len(words) == 2]
    n_latin = sum(_LATIN.fullmatch(words[1]) is not None for words in pairs)
    is_latin = n_latin > _LATIN_SHARE * max(len(split), 1)
    place = 0 if is_latin else -1
    heads = {kind: words[place] for kind, words in split.items() if words}
    n_kinds = Counter(map(stem_word, heads.values()))
    is_shared = {kind: n_kinds[stem_word(head)] >= _LEAST_KINDS for kind, head in heads.items()}
    return {kind: {heads[kind]} if is_shared.get(kind) else set() for kind in split}


def _split_name(kind: str) -> list[str]:
    """Return the words of a name in lower case, without numbers and states at its end."""
    words = [word for word in _split(kind) if len(word) > 2 and not word.isdigit()]
    while len(words) > 1 and stem_word(words[-1]) in _STATES:
        words.pop()
    return [word for word in words if word not in _JUNK]


def _split(name: str) -> list[str]:
    return [word for word in re.split(r"[\W_]+", name.lower()) if word]


def _stem(word: str) -> str:
    if word in _SAME or not word.isascii():
        return word
    if word in _IRREGULAR:
        word = _IRREGULAR[word]
    elif len(word) < 4:
        return word
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    # "boxe" of "boxes" and "box" are one, and so are "cookie" and the "cooky" of other plurals.
    if word.endswith("ie"):
        return word[:-2] + "y"
    return word[:-1] if word.endswith(("se", "xe", "ze", "che", "she", "oe")) else word


def _tidy(keywords: Iterable[str]) -> set[str]:
    """Return keywords without surplus spaces, each once."""
    return {" ".join(str(word).split()) for word in keywords} - {""}


def _split_folders(
    paths: Sequence[str], kinds: Sequence[str | None] | None, kind_words: bool
) -> list[set[str]]:
    """Return the words in the folders of each path, less the kind's own and those of cameras."""
    said = []
    for i, path in enumerate(paths):
        folders = re.split(r"[/\\]", str(path))[:-1]
        if not kind_words and kinds is None:
            folders = folders[:-1]
        elif not kind_words and kinds is not None:
            folders = [folder for folder in folders if folder != kinds[i]]
        words = {word for folder in folders if not is_camera(folder) for word in _split(folder)}
        said.append({word for word in words if _is_telling(word)})
    return said


def _is_telling(word: str) -> bool:
    """Return whether a word of a folder's name says something: not "img", "train" or "07"."""
    return len(word) > 1 and word not in _JUNK and not (word.isdigit() and len(word) < 4)
