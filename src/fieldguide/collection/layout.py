"""Which folders of a collection are kinds: what ``kinds="auto"`` sees in their names.

A kind is the deepest folder above an image whose name can be one. Names that cannot:

=========  ======================================================================================
dates      "2020", "2020-05-01", "1998s", "spring 2021", "week 3"; a month beside another of these
numbers    "07", "1.2"
cameras    "DCIM", "100CANON", "IMG_0023", "CAM01", "NIKON D70", "iPhone"; folders above one that
           has no maker's name tell where it stood
places     "site 4", "Plot_B", "station12"
parts      "train", "test", "images", "photos": of a data set
=========  ======================================================================================

A letter with a number ("S1", "B04_R2") may be a kind where it stands alone. In a path of nothing
but such names it is a season, a site or a roll of film.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

KIND_RULES = ("auto", "parent", "top", "none")
_HOW = "Choose otherwise with --kinds parent, top or none, or with --sidecar."
_N_EXAMPLES = 3
_MAX_LETTERS = 40  # of an example

_MONTH = (
    "jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?"
    "|oct(ober)?|nov(ember)?|dec(ember)?"
)
_YEAR = r"(18|19|20)\d\d"
_SEASON = "spring|summer|autumn|fall|winter"
_MAKERS = frozenset(
    """
    canon nikon sony lumix panasonic fujifilm pentax leica kodak casio iphone ipad samsung huawei
    xiaomi motorola nokia gopro dji
    """.split()  # noqa: SIM905 - words are easier to read and extend without quotes
)
_MAKERS_OF_OTHERS = frozenset(("fuji", "galaxy", "olympus", "pixel"))  # with a number alone
_MODELS = frozenset(
    """
    alpha camera coolpix cybershot cyber easyshare eos galaxy ii iii images ixus lumix mark max mini
    optio phone photos pictures plus powershot pro rebel shot
    """.split()  # noqa: SIM905
)
_IDENTIFIER = r"[ ._-]*([a-z]|[a-z]?[ ._-]?\d+[a-z]?)"
_PATTERNS = {
    "dates": (
        rf"{_YEAR}s?",
        rf"{_YEAR}[ ._-]?\d{{1,2}}([ ._-]?\d{{1,2}}([ t._-]?[\d:._ -]{{2,10}}z?)?)?",
        rf"\d{{1,2}}[ ._-]\d{{1,2}}[ ._-](\d\d|{_YEAR})",
        rf"[\d ._-]*({_MONTH})[\d ._,-]*\d",
        rf"\d[\d ._-]*({_MONTH})",
        rf"({_SEASON})[ ._-]*{_YEAR}",
        rf"{_YEAR}[ ._-]*({_SEASON})",
        r"(year|month|week|day|session|visit|survey|season)[ ._-]*\d+",
    ),
    "numbers": (r"(?=.*\d)[\d ._()-]+",),
    "cameras": (
        r"dcim",
        r"(img|image|dsc|dscn|dscf|pict|imgp|mvi|pxl|gopr|dji)[ ._-]?\d+",
        rf"(cam|camera|camtrap|cameratrap|trap|reconyx|bushnell|browning|moultrie){_IDENTIFIER}",
        r"reconyx|bushnell|moultrie|camera[ ._-]?(roll|uploads|traps?)",
    ),
    "places": (
        rf"(site|station|plot|transect|location|loc|grid|quadrat|zone|point|area|block){_IDENTIFIER}",
    ),
    "parts of a data set": (
        r"train(ing)?|test(ing)?|val|valid|validation|dev|eval",
        r"imgs?|images?|photos?|photographs|pics?|pictures?|jpe?gs?|pngs?|raw|originals?",
        r"data|datasets?|split[ ._-]?\d*|(fold|batch|part|set|roll|card|disc|disk)[ ._-]?\d+",
        r"(new|untitled)[ ._-]folder([ ._-]?\(?\d+\)?)?",
    ),
}  # fmt: skip
_RULES = {why: re.compile("|".join(map("(?:{})".format, p))) for why, p in _PATTERNS.items()}
_BESIDE = {"dates": re.compile(_MONTH), "cameras": re.compile("camera|screenshots")}
_CARD = re.compile(r"[1-9]\d\d(?=.*[A-Z_])[0-9A-Z_]{5}")  # by DCF, the standard of cameras
_WHEN = re.compile(rf".*\d.*|{_MONTH}|{_SEASON}")
_CODE = re.compile(r"[a-z]{1,2}[ ._-]?\d+([ ._-]+[a-z]{1,2}[ ._-]?\d+)*")


def is_camera(name: str) -> bool:
    """Return whether the name of a folder is that of a camera or a phone.

    Examples
    --------
    >>> [is_camera(name) for name in ("100CANON", "NIKON D70", "iPhone 12", "Canon City", "canary")]
    [True, True, True, False, False]
    """
    return _find_reason(name) == "cameras"


def is_occasion(word: str) -> bool:
    """Return whether a word of a folder's name tells when or where, and not what.

    Examples
    --------
    >>> [is_occasion(word) for word in ("2019", "B04", "summer", "may", "mayfly")]
    [True, True, True, True, False]
    """
    return _WHEN.fullmatch(word.lower()) is not None


class Layout(NamedTuple):
    """The kind of each image, and why."""

    kinds: list[str | None]
    because: str  # in words, with how to choose otherwise; "" where none were asked for


def choose_kinds(paths: Sequence[str], rule: str) -> Layout:
    """Return the kind of each path by a rule of ``KIND_RULES``.

    Examples
    --------
    >>> choose_kinds(["heron/2019/a.jpg", "coot/2020/b.jpg"], "auto").kinds
    ['heron', 'coot']
    >>> choose_kinds(["CAM01/2020-05-01/a.jpg"], "auto").because  # doctest: +ELLIPSIS
    'No folder names a kind: cameras (CAM01), dates (2020-05-01). Choose otherwise with ...'
    """
    folders = [path.split("/")[:-1] for path in paths]
    if rule == "none":
        return Layout([None] * len(paths), "")
    if rule != "auto":
        place, which = (-1, "that holds it") if rule == "parent" else (0, "at the top")
        kinds = [names[place] if names else None for names in folders]
        return Layout(kinds, f"The kind of an image is the folder {which}, as was asked for.")
    judged = [judge_folders(names) for names in dict.fromkeys(map(tuple, folders))]
    kind_of = {names: kind for names, kind, _ in judged}
    return Layout([kind_of[tuple(names)] for names in folders], _explain(judged))


class _Judged(NamedTuple):
    names: tuple[str, ...]
    kind: str | None
    reasons: tuple[str | None, ...]  # why each name is no kind; None where it may be one


def judge_folders(names: Sequence[str]) -> _Judged:
    """Return which of the folders above an image, the outermost first, is its kind."""
    reasons = [_find_reason(name) for name in names]
    for k, name in enumerate(names):
        if reasons[k] is None:
            for why, rule in _BESIDE.items():
                beside = ("dates", "numbers") if why == "dates" else (why,)
                if rule.fullmatch(_plain(name)) and any(other in beside for other in reasons):
                    reasons[k] = why
    is_code = [bool(_CODE.fullmatch(_plain(name))) for name in names]
    if len(names) > 1 and all(r or c for r, c in zip(reasons, is_code, strict=True)):
        reasons = [reason or "codes" for reason in reasons]
    cameras = [
        k
        for k, (name, reason) in enumerate(zip(names, reasons, strict=True))
        if reason == "cameras" and not _is_of_maker(name)
    ]
    for k in range(max(cameras, default=0)):
        reasons[k] = reasons[k] or "above a camera"
    named = [name for name, reason in zip(names, reasons, strict=True) if reason is None]
    return _Judged(tuple(names), named[-1] if named else None, tuple(reasons))


def _find_reason(name: str) -> str | None:
    if _CARD.fullmatch(name) or _is_of_maker(name):
        return "cameras"
    plain = _plain(name)
    return next((why for why, rule in _RULES.items() if rule.fullmatch(plain)), None)


def _is_of_maker(name: str) -> bool:
    """Return whether a name is that of a camera or phone that people hold: "NIKON D70"."""
    first, *others = re.split(r"[ ._-]+", _plain(name))
    maker = first.rstrip("0123456789")
    has_number = [any(map(str.isdigit, part)) for part in (first, *others)]
    is_maker = maker in _MAKERS or (maker in _MAKERS_OF_OTHERS and any(has_number))
    models = zip(others, has_number[1:], strict=True)
    return is_maker and all(number or part in _MODELS for part, number in models)


def _plain(name: str) -> str:
    return " ".join(name.split()).lower()


def _explain(judged: Iterable[_Judged]) -> str:
    """Say which folders are kinds, and which are not and why."""
    passed: dict[str, Counter[str]] = {}
    n_named = n_parents = n_all = 0
    for names, kind, reasons in judged:
        n_all += bool(names)
        n_named += kind is not None
        n_parents += kind is not None and reasons[-1] is None
        for name, reason in zip(names, reasons, strict=True):
            if reason is not None:
                passed.setdefault(reason, Counter())[name] += 1
    if not n_all:
        return f"The images are in no folders, so they have no kinds. {_HOW}"
    listed = ", ".join(f"{why} ({_list(names)})" for why, names in passed.items())
    if not n_named:
        return f"No folder names a kind: {listed}. {_HOW}"
    which = "that holds it" if n_named == n_parents else "nearest to it that can name one"
    without = f" Not kinds: {listed}." if passed else ""
    return f"The kind of an image is the folder {which}.{without} {_HOW}"


def _list(names: Counter[str]) -> str:
    most = sorted(sorted(names), key=lambda name: -names[name])[:_N_EXAMPLES]
    shown = [name if len(name) <= _MAX_LETTERS else f"{name[:_MAX_LETTERS]}…" for name in most]
    return ", ".join([*shown, "…"] if len(names) > len(shown) else shown)
