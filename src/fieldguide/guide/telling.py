"""What a guide says of itself: what it holds, how right it is, what it has learnt since."""

from typing import TYPE_CHECKING, Any

from fieldguide.guide.found_kinds import are_found

if TYPE_CHECKING:
    from fieldguide.guide.contents import GuideContents


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
    sentence = count(guide.n_shown, "specimen")
    if guide.kinds_are_found:
        sentence += " without labels"
    elif guide.kinds:
        sentence += f" of {count(len(guide.kinds), 'kind')}"
    common = guide.about.get("common_words") or ()
    if common:
        sentence += f", nearly all “{', '.join(common[:2])}”"
    if guide.kinds_are_found:
        sentence += f", in {count(len(guide.kinds), 'branch', 'branches')} that serve as kinds"
    first = sorted(
        (guide.branches[b] for b in guide.branches[0].children),
        key=lambda b: (b.is_likeness, -b.count),
    )
    listed = [f"{branch.words[0]} ({branch.count:,})" for branch in first[:4]]
    if len(first) > 4:
        listed = [*listed[:3], count(len(first) - 3, "more branch", "more branches")]
    if not listed:
        return f"{sentence}."
    return f"{sentence}: {' and '.join(filter(None, [', '.join(listed[:-1]), listed[-1]]))}."


def tell_verdict(about: dict[str, Any]) -> str:
    """Return how well the key does on specimens that it has not seen."""
    if not about["n_kinds"]:
        return "The collection has no kinds, so it has no key: new images are put into the tree."
    if are_found(about):
        return _tell_agreement(about)
    accuracy, mean = about["accuracy"], about["mean_class_accuracy"]
    if accuracy is None:
        return "There are too few specimens of each kind to say how often the key is right."
    sentence = (
        f"The key names {accuracy:.1%} of held-out specimens rightly "
        f"({mean:.1%} as the mean over kinds; {about['n_folds']} folds)"
    )
    key = about.get("key") or {}
    point = key.get("point")
    if point and point["share"] < 1:
        asked, whole = point["evaluations"], point["evaluations"] / point["share"]
        counted = key.get("counted", "functions")
        sentence += f", with {asked:.1f} {counted} for a picture, not {whole:.0f}"
    return f"{sentence}. {tell_growth(about)}".rstrip()


def _tell_agreement(about: dict[str, Any]) -> str:
    """Return how often the key puts a specimen into its branch without having seen it."""
    share = about.get("agreement")
    if share is None:
        return "There are too few specimens in each branch to say how often the key finds it."
    return (
        f"The key puts {share:.1%} of held-out specimens into the branch that the tree gave "
        f"them ({about['n_folds']} folds): that is how far the two agree, and not how "
        "often they are right, for nobody has named these specimens."
    )


def tell_growth(about: dict[str, Any]) -> str:
    """Return what is known of kinds that the key learnt without being trained again; "" if none."""
    said = about.get("growth", {})
    if not said.get("kinds"):
        return ""
    kinds, share = count(len(said["kinds"]), "kind"), said["accuracy"]
    right = (
        f" of their held-out specimens it names {share:.1%} rightly;" if share is not None else ""
    )
    return (
        f"It has learnt {kinds} since, without being trained again:{right} what the others "
        "lose to them is not in the first figure until it is trained with all."
    )
