"""What a guide says of itself: what it holds, how right it is, what it has learnt since."""

from typing import TYPE_CHECKING, Any

from fieldguide._languages import grouped, message, say, say_count
from fieldguide.guide.found_kinds import are_found
from fieldguide.guide.naming import listed

if TYPE_CHECKING:
    from fieldguide.guide.contents import GuideContents

# What a key evaluates for a picture.
COUNTED = {"functions": message("functions"), "kernel values": message("kernel values")}


def count(n: int, one: str, many: str = "") -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> count(1, "kind"), count(2, "branch", "branches")
    ('1 kind', '2 branches')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def tell_summary(guide: "GuideContents") -> str:
    """Return what the collection is and holds."""
    n, n_kinds = guide.n_shown, len(guide.kinds)
    if guide.kinds_are_found:
        sentence = say_count("%(n)s specimen without labels", "%(n)s specimens without labels", n)
    elif guide.kinds:
        specimens = say_count("%(n)s specimen", "%(n)s specimens", n)
        sentence = say_count(
            "%(specimens)s of %(n)s kind",
            "%(specimens)s of %(n)s kinds",
            n_kinds,
            specimens=specimens,
        )
    else:
        sentence = say_count("%(n)s specimen", "%(n)s specimens", n)
    common = guide.about.get("common_words") or ()
    if common:
        sentence += ", " + say("nearly all “%(words)s”", words=", ".join(common[:2]))
    if guide.kinds_are_found:
        sentence += ", " + say_count(
            "in %(n)s branch that serves as a kind",
            "in %(n)s branches that serve as kinds",
            n_kinds,
        )
    first = sorted(
        (guide.branches[b] for b in guide.branches[0].children),
        key=lambda b: (b.is_likeness, -b.count),
    )
    names = [f"{branch.words[0]} ({grouped(branch.count)})" for branch in first[:4]]
    if len(first) > 4:
        more = say_count("%(n)s more branch", "%(n)s more branches", len(first) - 3)
        names = [*names[:3], more]
    return f"{sentence}: {listed(names)}." if names else f"{sentence}."


def tell_verdict(about: dict[str, Any]) -> str:
    """Return how well the key does on specimens that it has not seen."""
    if not about["n_kinds"]:
        return say(
            "The collection has no kinds, so it has no key: new images are put into the tree."
        )
    if are_found(about):
        return _tell_agreement(about)
    accuracy, mean = about["accuracy"], about["mean_class_accuracy"]
    if accuracy is None:
        return say("There are too few specimens of each kind to say how often the key is right.")
    values: dict[str, Any] = {
        "share": grouped(100 * accuracy, 1),
        "mean": grouped(100 * mean, 1),
        "folds": about["n_folds"],
    }
    sentence = say(
        "The key names %(share)s%% of held-out specimens rightly (%(mean)s%% as the mean over "
        "kinds; %(folds)s folds).",
        **values,
    )
    key = about.get("key") or {}
    point = key.get("point")
    if point and point["share"] < 1:
        asked, whole = point["evaluations"], point["evaluations"] / point["share"]
        counted = str(key.get("counted", "functions"))
        sentence = say(
            "The key names %(share)s%% of held-out specimens rightly (%(mean)s%% as the mean over "
            "kinds; %(folds)s folds), with %(asked)s %(what)s for a picture, not %(whole)s.",
            asked=grouped(asked, 1),
            whole=grouped(whole),
            what=say(COUNTED[counted]) if counted in COUNTED else counted,
            **values,
        )
    return f"{sentence} {tell_growth(about)}".rstrip()


def _tell_agreement(about: dict[str, Any]) -> str:
    """Return how often the key puts a specimen into its branch without having seen it."""
    share = about.get("agreement")
    if share is None:
        return say("There are too few specimens in each branch to say how often the key finds it.")
    return say(
        "The key puts %(share)s%% of held-out specimens into the branch that the tree gave them "
        "(%(folds)s folds): that is how far the two agree, and not how often they are right, for "
        "nobody has named these specimens.",
        share=grouped(100 * share, 1),
        folds=about["n_folds"],
    )


def tell_growth(about: dict[str, Any]) -> str:
    """Return what is known of kinds that the key learnt without being trained again; "" if none."""
    said = about.get("growth", {})
    if not said.get("kinds"):
        return ""
    n, share = len(said["kinds"]), said["accuracy"]
    if share is None:
        return say_count(
            "It has learnt %(n)s kind since, without being trained again: what the others lose to "
            "it is not in the first figure until it is trained with all.",
            "It has learnt %(n)s kinds since, without being trained again: what the others lose to "
            "them is not in the first figure until it is trained with all.",
            n,
        )
    return say_count(
        "It has learnt %(n)s kind since, without being trained again: of its held-out specimens it "
        "names %(share)s%% rightly; what the others lose to it is not in the first figure until it "
        "is trained with all.",
        "It has learnt %(n)s kinds since, without being trained again: of their held-out specimens "
        "it names %(share)s%% rightly; what the others lose to them is not in the first figure "
        "until it is trained with all.",
        n,
        share=grouped(100 * share, 1),
    )
