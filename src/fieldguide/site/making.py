"""How pages word the making of a guide: its tree, its builds, and what they left aside."""

from collections.abc import Mapping
from typing import Any

from fieldguide._languages import grouped, message, say, say_count
from fieldguide.site.english import mark_english
from fieldguide.site.phrases import begin, count, percent
from fieldguide.site.times import duration

MEASURING = (  # the steps of a build in which pictures are read
    "opening the network",
    "recognising images",
    "reading images",
    "reading dates and places",
    "describing images",
    "looking closer",
    "waiting for a worker",
)
_MOST_TYPES = 8  # of files, named apart
_TREES = {
    "attribute": message("Attribute Tree Process"),
    "bernoulli": message("FBLM, a tree of Bernoulli rates"),
    "agglomerative": message("Ward clustering of the words"),
}


def tree_name(about: dict[str, Any]) -> str:
    """Name the method that grew a guide's tree."""
    grown = about.get("tree") or {}
    method = grown.get("method") or (about.get("settings") or {}).get("tree")
    if method is None:
        return say("unknown")
    return say(_TREES[method]) if method in _TREES else str(method)


def word_tree(about: dict[str, Any]) -> list[tuple[str, str]]:
    """Say how the tree of a guide was grown: (what, how) in plain words."""
    grown = about.get("tree") or {}
    facts = [(say("Tree"), tree_name(about))]
    if grown.get("because"):
        facts.append((say("Why this tree"), mark_english(grown["because"])))
    if grown.get("n_words"):
        facts.append((say("Grown from"), count(grown["n_words"], "word")))
    if grown.get("n_sweeps"):
        chains, sweeps = count(grown["n_chains"], "chain"), count(grown["n_sweeps"], "sweep")
        begun, found = (count(grown[name], "branch") for name in ("n_start", "n_nodes"))
        facts.append(
            (
                say("Sampled"),
                say(
                    "%(chains)s of %(sweeps)s, begun at a clustering with %(begun)s; the best "
                    "sample has %(found)s before those without words are folded; the tree is what "
                    "most samples say",
                    chains=chains,
                    sweeps=sweeps,
                    begun=begun,
                    found=found,
                ),
            )
        )
        facts.append((say("Do chains agree"), word_r_hat(grown.get("r_hat"))))
    if grown.get("n_by_likeness"):
        divided = say_count(
            "%(n)s branch where no word divides further",
            "%(n)s branches where no word divides further",
            grown["n_by_likeness"],
        )
        facts.append((say("By likeness"), divided))
    if grown.get("purity") is not None:
        facts.append(
            (
                say("Beside the kinds"),
                say(
                    "%(share)s of specimens sit with the most frequent kind of their branch; two "
                    "of one kind are %(steps)s steps apart on average",
                    share=percent(grown["purity"]),
                    steps=grouped(0.0 - grown["locality"], 1),
                ),
            )
        )
    return facts


def word_r_hat(r_hat: float | None) -> str:
    """Say what the R-hat of the chains means."""
    if r_hat is None:
        return say("not known")
    if r_hat < 1.1:
        return say(
            "yes: R-hat of the joint density is %(r_hat)s, below %(limit)s",
            r_hat=grouped(r_hat, 2),
            limit=grouped(1.1, 1),
        )
    return say(
        "no: R-hat of the joint density is %(r_hat)s, not below %(limit)s; another seed gives a "
        "somewhat different tree",
        r_hat=grouped(r_hat, 2),
        limit=grouped(1.1, 1),
    )


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
    shown = sorted(others.items(), key=lambda pair: (-pair[1], pair[0]))[:_MOST_TYPES]
    named = [f"{suffix or say('without an ending')} ({grouped(n)})" for suffix, n in shown]
    rest = len(others) - len(shown)
    more = [count(rest, "more type")] if rest else []
    return say_count(
        "%(n)s file that is no picture: %(types)s",
        "%(n)s files that are no pictures: %(types)s",
        total,
        types=", ".join([*named, *more]),
    )


def word_update(about: Mapping[str, Any]) -> str:
    """Say what a build measured, what it knew, and what it fitted again; "" for a first build."""
    update, took = about.get("update"), about.get("step_seconds") or {}
    if not update:
        return ""
    n_measured, n_moved = update["measured"], update["moved"]
    told = [
        say_count("%(n)s picture measured", "%(n)s pictures measured", n_measured)
        if n_measured
        else say("no pictures measured"),
        say_count("%(n)s known already", "%(n)s known already", update["kept"]),
        say_count(
            "%(n)s recognised under another name", "%(n)s recognised under another name", n_moved
        )
        if n_moved
        else "",
        say_count("%(n)s gone", "%(n)s gone", update["gone"]) if update["gone"] else "",
    ]
    sentence = begin(f"{', '.join(filter(None, told))}.")
    measuring = sum(took.get(step, 0.0) for step in MEASURING)
    fitting = sum(took.values()) - measuring
    if not took:
        return sentence
    return f"{sentence} " + say(
        "Measuring took %(measuring)s; words, tree, key and all that follows from them were fitted "
        "again, in %(fitting)s.",
        measuring=duration(measuring),
        fitting=duration(fitting),
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
        (step, f"{grouped(seconds, 1)} s, {100 * seconds / total:.0f} %")
        for rank, (step, seconds) in enumerate(steps)
        if rank == 0 or seconds >= 0.05
    ]
