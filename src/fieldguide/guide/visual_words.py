"""The visual words of a guide, as a person may look at them.

A guide whose features hold visual words shows a few dozen of them: windows of different pictures
that are the same word to the guide, and the kinds in which the word is most at home. How much it
is at home in a kind is its share among the windows of that kind over its share in general, by the
pictures that the stack kept as landmarks. Words that are most at home somewhere come first.
"""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from fieldguide.features import BagOfWords, FeatureStack, pick_words
from fieldguide.guide import folder as files
from fieldguide.guide import rows, specimens
from fieldguide.guide.validation.shapes import list_of, number, record, row_of, share, text, whole
from fieldguide.guide.views import VisualWord
from fieldguide.guide.workspace import Workspace

NAME = "visual words"
N_SHOWN = 48
PATCH_PX, GAP_PX = 72, 3  # on the page
_N_KINDS, _LEAST_PICTURES = 3, 3


def build(work: Workspace) -> None:
    """Write the words of the guide's stack, if it holds any, and their pictures."""
    stack: FeatureStack | None = work.built[rows.NAME].stack
    if stack is None or "words" not in stack.descriptors_:
        return
    kinds = work.built[specimens.NAME].kinds
    bag: BagOfWords = stack.descriptors_["words"]
    histograms = stack.landmarks_["words"].rows[:, : bag.n_words]  # of the whole picture
    homes = find_homes(histograms, [kinds[i] if i >= 0 else None for i in stack.landmark_rows_])
    entries: list[dict[str, Any]] = []
    for word in pick_words(bag, min(N_SHOWN, bag.n_words - 1)):
        patches = bag.patches_[word][: bag.n_patches_[word]]
        if len(patches):
            address = work.draft.shelf.keep("words", encode_patches(patches), "png")
            entries.append(
                {
                    "number": word,
                    "share": float(bag.frequency_[word]),
                    "n_patches": len(patches),
                    "kinds": homes[word],
                    "picture": address,
                }
            )
    entries.sort(key=lambda entry: -max((factor for _, factor in entry["kinds"]), default=0))
    files.write_record(work.draft, files.VISUAL_WORDS, {"words": entries})
    work.pictures |= {entry["picture"] for entry in entries}


_WRITTEN = record(
    {
        "words": list_of(
            record(
                {
                    "number": whole(),
                    "share": share(),
                    "n_patches": whole(1, 1000),
                    "kinds": list_of(row_of(text(), number(0)), 100),
                    "picture": text(pattern=r"pictures/words/[0-9a-f]{32}\.png"),
                }
            ),
            1000,
        )
    }
)


def read_visual_words(values: dict[str, Any]) -> tuple[VisualWord, ...]:
    """Return the words from what was written; UnsoundError if it is damaged."""
    _WRITTEN(values, "")
    return tuple(
        VisualWord(
            int(entry["number"]),
            float(entry["share"]),
            int(entry["n_patches"]),
            tuple((str(name), float(factor)) for name, factor in entry["kinds"]),
            str(entry["picture"]),
        )
        for entry in values["words"]
    )


def find_homes(
    histograms: np.ndarray, kinds: Sequence[str | None]
) -> list[list[tuple[str, float]]]:
    """Return, for each word, the kinds where it is most frequent and how many times more so.

    ``histograms`` is (n_pictures, n_words). Kinds of few pictures are left out, and so are those
    where a word is less than twice as frequent as in general.
    """
    named = np.array([kind or "" for kind in kinds])
    names = [
        kind
        for kind in sorted(set(named) - {""})
        if np.count_nonzero(named == kind) >= _LEAST_PICTURES
    ]
    if not names:
        return [[] for _ in range(histograms.shape[1])]
    general = np.maximum(histograms.mean(axis=0), 1e-12)
    factors = np.stack([histograms[named == kind].mean(axis=0) for kind in names]) / general
    order = np.argsort(-factors, axis=0, kind="stable")[:_N_KINDS]
    return [
        [(names[k], round(float(factors[k, word]), 1)) for k in best if factors[k, word] >= 2]
        for word, best in enumerate(order.T)
    ]


def encode_patches(patches: np.ndarray) -> bytes:
    """Return patches side by side as a PNG file, with gaps that show the paper."""
    strip = Image.new("RGBA", (len(patches) * (PATCH_PX + GAP_PX) - GAP_PX, PATCH_PX))
    for i, patch in enumerate(patches):
        large = Image.fromarray(patch).resize((PATCH_PX, PATCH_PX), Image.Resampling.BICUBIC)
        strip.paste(large, (i * (PATCH_PX + GAP_PX), 0))
    buffer = io.BytesIO()
    strip.save(buffer, "PNG")
    return buffer.getvalue()
