"""A plate of visual words: patches of each, so that a person can see what a word is."""

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from sklearn.utils.validation import check_is_fitted

from fieldguide._check import check_number
from fieldguide.errors import InvalidArgument
from fieldguide.features.bag_of_words import PATCH_PX, BagOfWords

PAPER, INK, FADED, RULE = "#f7f1e3", "#2e2a25", "#8a7f70", "#c9bda6"
SHOWN_PX, GAP_PX, GUTTER_PX, MARGIN_PX, CAPTION_PX, TITLE_PX = 64, 3, 30, 44, 30, 56
CLEAR = 40  # standard deviation of the grey levels of a patch that is easy to see


def draw_words_plate(
    bag: BagOfWords,
    words: Sequence[int] | None = None,
    *,
    n_words: int = 24,
    n_columns: int = 4,
    title: str | None = None,
) -> Image.Image:
    """Lay out the patches of a few words, to see what they are.

    Parameters
    ----------
    bag : BagOfWords
        Fitted, with ``n_examples`` of at least 1.
    words : sequence of int, optional
        Which words, in order; by default ``n_words`` whose patches are alike, and that
        differ from each other.
    n_columns : int
        Words side by side.
    title : str, optional
        A line at the top.

    Returns
    -------
    PIL.Image.Image

    Examples
    --------
    >>> from fieldguide.datasets import load_specimens
    >>> images = load_specimens(n_per_kind=1, size_px=64).images[:4]
    >>> bag = BagOfWords(n_words=8).fit(images)
    >>> plate = draw_words_plate(bag, n_words=4, n_columns=2, title="Words of four specimens")
    >>> plate.mode
    'RGB'
    """
    check_is_fitted(bag)
    check_number("draw_words_plate", "n_words", n_words, 1, 10_000, integer=True)
    check_number("draw_words_plate", "n_columns", n_columns, 1, 100, integer=True)
    if bag.n_examples == 0:
        raise InvalidArgument(
            "The BagOfWords keeps no patches to draw; fit it with n_examples of at least 1."
        )
    chosen = pick_words(bag, n_words) if words is None else list(words)
    for word in chosen:
        if not 0 <= word < bag.n_words:
            raise InvalidArgument(
                f"There is no word {word} in a bag of {bag.n_words}; words are counted from 0."
            )
    across = min(3, bag.n_examples)
    card_width = across * (SHOWN_PX + GAP_PX) - GAP_PX
    card_height = -(-bag.n_examples // across) * (SHOWN_PX + GAP_PX) - GAP_PX + CAPTION_PX
    top = MARGIN_PX + (TITLE_PX if title else 0)
    n_rows = -(-len(chosen) // n_columns)
    plate = Image.new(
        "RGB",
        (
            2 * MARGIN_PX + n_columns * (card_width + GUTTER_PX) - GUTTER_PX,
            top + MARGIN_PX + n_rows * (card_height + GUTTER_PX) - GUTTER_PX,
        ),
        PAPER,
    )
    pen = ImageDraw.Draw(plate)
    if title:
        pen.text((MARGIN_PX, MARGIN_PX - 6), title, INK, ImageFont.load_default(26))
    for place, word in enumerate(chosen):
        row, column = divmod(place, n_columns)
        x = MARGIN_PX + column * (card_width + GUTTER_PX)
        y = top + row * (card_height + GUTTER_PX)
        draw_card(plate, pen, bag, word, x, y, across)
    return plate


def draw_card(
    plate: Image.Image,
    pen: ImageDraw.ImageDraw,
    bag: BagOfWords,
    word: int,
    x: int,
    y: int,
    across: int,
) -> None:
    """Draw one word: a rule, its name and how frequent it is, its patches."""
    width = across * (SHOWN_PX + GAP_PX) - GAP_PX
    font = ImageFont.load_default(15)
    pen.line((x, y, x + width - 1, y), RULE)
    pen.text((x, y + 5), f"word {word}", INK, font)
    share = f"1 window in {round(1 / max(float(bag.frequency_[word]), 1e-9)):,}"
    pen.text((x + width - pen.textlength(share, font), y + 5), share, FADED, font)
    for i, patch in enumerate(bag.patches_[word][: bag.n_patches_[word]]):
        row, column = divmod(i, across)
        shown = Image.fromarray(patch).resize((SHOWN_PX, SHOWN_PX), Image.Resampling.BICUBIC)
        left = x + column * (SHOWN_PX + GAP_PX)
        plate.paste(shown, (left, y + CAPTION_PX + row * (SHOWN_PX + GAP_PX)))


def pick_words(bag: BagOfWords, n: int) -> list[int]:
    """Return n words, in order, that are worth a look.

    The patches of such a word are clear and alike, and its edges fill many of the 128 numbers: most
    words are one straight edge. Among the 4 n best, or the half of all, each next is the farthest
    from those taken already.

    Parameters
    ----------
    bag : BagOfWords
        Fitted.
    n : int
        How many words.

    Examples
    --------
    >>> from fieldguide.datasets import load_specimens
    >>> images = load_specimens(n_per_kind=1, size_px=64).images[:4]
    >>> bag = BagOfWords(n_words=8).fit(images)
    >>> chosen = pick_words(bag, 3)
    >>> len(chosen), chosen == sorted(chosen)
    (3, True)
    """
    patches = bag.patches_.astype(np.float32).mean(axis=-1).reshape(bag.n_words, -1, PATCH_PX**2)
    patches -= patches.mean(axis=-1, keepdims=True)
    contrast = patches.std(axis=-1, keepdims=True)
    patches /= np.maximum(PATCH_PX * contrast, 1e-6)
    likeness = np.linalg.norm(patches.mean(axis=1), axis=-1)
    richness = bag.words_.sum(axis=1) / np.maximum(np.linalg.norm(bag.words_, axis=1), 1e-6)
    clearness = np.minimum(contrast, CLEAR).mean(axis=(1, 2))  # more is not better
    score = likeness**2 * richness * clearness
    score[bag.n_patches_ < bag.n_examples] = 0  # where patches are missing, last
    pool = np.argsort(-score, kind="stable")[: max(n, min(4 * n, bag.n_words // 2))]
    taken = [0]
    distance = np.full(len(pool), np.inf)
    while len(taken) < min(n, len(pool)):
        last = bag.words_[pool[taken[-1]]]
        distance = np.minimum(distance, ((bag.words_[pool] - last) ** 2).sum(axis=1))
        distance[taken] = -1
        taken.append(int(distance.argmax()))
    return sorted(pool[taken].tolist())
