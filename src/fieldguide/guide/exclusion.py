"""Images that the owner has excluded from a guide: a build leaves them out."""

from fieldguide.guide.edits.hand import SpecimenIndex
from fieldguide.guide.edits.records import SPECIMEN
from fieldguide.guide.workspace import Workspace


def find_excluded(work: Workspace, *, is_measured: bool) -> frozenset[str]:
    """Return the paths of the images to leave out.

    An excluded image is in no catalogue, so its file is read to know that it is the same, but not
    decoded and not measured. Before all others are measured it is not known which were moved: then
    these are the images that have both the path and the content of an excluded one.
    """
    targets = [
        edit.target
        for edit in work.edits.active
        if edit.verb == "exclude" and edit.target and edit.target.form == SPECIMEN
    ]
    if not targets:
        return frozenset()
    items = work.collection.items
    known = work.earlier.digests() | work.journal.digests()
    digests = [known.get(f"{item.path}\0{item.stamp}", "") for item in items]
    named = {target.name for target in targets}
    for i, item in enumerate(items):
        if item.path in named and not digests[i]:
            digests[i] = work.collection.digest(i) or ""
    index = SpecimenIndex([item.path for item in items], digests)
    found = [(index.find(target), target) for target in targets]
    return frozenset(
        items[i].path
        for i, target in found
        if i is not None
        and (is_measured or (items[i].path, digests[i]) == (target.name, target.digest))
    )
