"""What guide.json may say."""

from typing import Any

from fieldguide.guide.validation.shapes import (
    Shape,
    UnsoundError,
    list_of,
    number,
    one_of,
    or_none,
    record,
    row_of,
    share,
    table_of,
    text,
    truth,
    whole,
)

_NAME = text(pattern="[a-z][a-z0-9_]{0,40}")
_PLAIN = text(100, pattern="[ -~]*")  # dates and versions stand in files of any format
_POINT = record(
    {
        "accuracy": share(),
        "evaluations": number(1e-9, 1e9),
        "share": number(1e-9, 1e6),
    }
)
_KEY = record(
    {},
    {
        "tried": list_of(
            record(
                {"name": text(200), "points": list_of(_POINT, 10_000)},
                {"way": or_none(number(0, 1e9))},
            ),
            1000,
        ),
        "point": or_none(_POINT),
        "counted": text(100),
        "calibration_error": number(0, 1),
        "reliability": list_of(row_of(share(), share(), number(0)), 10_000),
    },
)
_TREE = record(
    {},
    {
        "method": text(100),
        "because": text(2000),
        "n_words": whole(),
        "n_sweeps": whole(),
        "n_chains": whole(),
        "n_start": whole(),
        "n_nodes": whole(),
        "r_hat": or_none(number(0, 1e6)),
        "n_by_likeness": whole(),
        "purity": or_none(share()),
        "locality": or_none(number(-1e6, 1e6)),
        "mean_truth": or_none(share()),
    },
)
_SETTINGS = record(
    {"embedder": or_none(text(4096))},
    {
        "network": text(4000),
        "features": text(200),
        "features_asked": text(200),
        "features_because": text(2000),
        "key": or_none(text(200)),
        "key_asked": text(2000),
        "key_C": or_none(number(0)),
        "key_cost": or_none(number()),
        "key_loss": or_none(number()),
        "key_words": truth(),
        "kernel": text(100),
        "tree": text(100),
        "marks": truth(),
        "places": truth(),
    },
)
_SHARES = ("agreement", "mean_class_agreement", "least_subject")
_INFO = record(
    {
        "title": text(10_000),
        "n_specimens": whole(),
        "n_kinds": whole(),
        "n_branches": whole(),
        "edition": whole(1),
        "features": list_of(_NAME, 100),
        "settings": _SETTINGS,
        "embedder": text(1000),
        "created": _PLAIN,
        "versions": record({"fieldguide": _PLAIN}),
        "accuracy": or_none(share()),
        "mean_class_accuracy": or_none(share()),
        "confusions": list_of(row_of(text(), text(), whole())),
    },
    {
        **dict.fromkeys(_SHARES, or_none(share())),
        **dict.fromkeys(("n_unreadable", "n_captions", "n_words", "edits"), whole()),
        **dict.fromkeys(("kinds_because", "fingerprint", "source", "measure_settings"), text()),
        "n_folds": or_none(whole()),
        "n_excluded": whole(),
        "seed": whole(0, 2**128),
        "seconds": number(0, 1e12),
        "key_seconds": number(0, 1e12),
        "step_seconds": table_of(number(0, 1e12)),
        "common_words": list_of(text(1000)),
        "images": or_none(text(10_000)),
        "labels": or_none(
            record({}, {"kinds": text(100), "sidecar": or_none(text(10_000)), "bursts": truth()})
        ),
        "kinds_from": or_none(one_of("labels", "branches")),
        "kind_branches": or_none(table_of(whole())),
        "other_files": or_none(table_of(whole())),
        "update": or_none(
            record(dict.fromkeys(("measured", "kept", "moved", "gone"), whole())),
        ),
        "growth": record(
            {"because": text()}, {"kinds": list_of(text()), "accuracy": or_none(share())}
        ),
        "key": or_none(_KEY),
        "tree": or_none(_TREE),
        "versions": table_of(_PLAIN),
    },
)


_EARLIER = record({"n_specimens": whole(), "features": list_of(_NAME, 100)}, {"edition": whole(1)})


def check_info(info: Any) -> None:
    """Refuse a guide.json with a value that no version writes, by an UnsoundError."""
    _INFO(info, "")
    _check_together(info)
    of_branches: Shape = or_none(table_of(whole(0, info["n_branches"])))
    of_branches(info.get("kind_branches"), "kind_branches")


def _check_together(info: dict[str, Any]) -> None:
    """Refuse a figure without the other one that is told with it."""
    key, tree, growth = (info.get(name) or {} for name in ("key", "tree", "growth"))
    pairs = (
        (key, "reliability", "calibration_error"),
        (key, "point", "tried"),
        (tree, "purity", "locality"),
        (tree, "n_sweeps", "n_chains"),
        (tree, "n_sweeps", "n_start"),
        (tree, "n_sweeps", "n_nodes"),
        (growth, "kinds", "accuracy"),
        (info, "accuracy", "mean_class_accuracy"),
        (info, "accuracy", "n_folds"),
        (info, "agreement", "n_folds"),
    )
    for part, name, other in pairs:
        if part.get(name) and (other not in part or (part[other] is None and part is not growth)):
            raise UnsoundError(f"{other} is missing, and {name} is not")
    if any(n < 1 for _, _, n in key.get("reliability", ())):
        raise UnsoundError("key.reliability must count specimens from 1 on")
    if any(
        not each["points"] and type(each.get("way")) is not float for each in key.get("tried", ())
    ):
        raise UnsoundError("key.tried must tell why a key was not tried further")


def check_earlier(info: Any) -> None:
    """The same of an earlier format: of that a build takes the measurements over, no more."""
    _EARLIER(info, "")
    if info["format"] > 1:
        whole(1)(info.get("edition"), "edition")
