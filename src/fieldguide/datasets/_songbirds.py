"""Songbirds: finches and warblers that differ in crown, face, breast and wing."""

from fieldguide.datasets._kind import Kind, Stance
from fieldguide.datasets._songbird_plan import Plumage, draw_songbird

_PERCHED = Stance(
    words=("perched", "seen from the side"),
    weight=0.68,
    scenes={"foliage": 0.35, "sky": 0.2, "snow": 0.2, "meadow": 0.25},
    tilt=0.08,
    size=(0.5, 0.92),
    is_directed=True,
)
_FLYING = Stance(
    words=("in flight", "seen from the side", "wings open"),
    weight=0.32,
    scenes={"sky": 0.75, "meadow": 0.25},
    tilt=0.22,
    size=(0.6, 0.95),
    is_directed=True,
)
_STANCES = {"perched": _PERCHED, "in flight": _FLYING}
_WORDS = ("has eyes", "has feathers", "winged", "two-legged", "plump")
_BEAK = {"beak": ("has a beak",)}

KINDS = (
    Kind(
        "red-crested finch",
        "songbirds",
        "birds",
        draw_songbird,
        Plumage(
            back=(140, 112, 92),
            breast=(206, 168, 142),
            belly=(236, 224, 204),
            wing=(112, 92, 84),
            beak=(196, 150, 92),
            crest=(196, 52, 44),
            wing_bar=(242, 236, 222),
        ),
        (*_WORDS, "mostly brown"),
        {**_BEAK, "crest": ("crested", "red crown"), "wing bar": ("wing bar",)},
        _STANCES,
    ),
    Kind(
        "red-capped finch",
        "songbirds",
        "birds",
        draw_songbird,
        Plumage(
            back=(144, 116, 94),
            breast=(208, 176, 150),
            belly=(236, 224, 204),
            wing=(110, 92, 86),
            beak=(190, 146, 92),
            cap=(192, 54, 46),
            wing_bar=(242, 236, 222),
        ),
        (*_WORDS, "mostly brown"),
        {**_BEAK, "cap": ("red crown",), "wing bar": ("wing bar",)},
        _STANCES,
    ),
    Kind(
        "striped yellow warbler",
        "songbirds",
        "birds",
        draw_songbird,
        Plumage(
            back=(128, 138, 92),
            breast=(226, 196, 84),
            belly=(244, 232, 190),
            wing=(98, 104, 84),
            patch=(236, 198, 62),
            eye_stripe=(54, 48, 46),
            wing_bar=(236, 230, 208),
        ),
        (*_WORDS, "mostly yellow"),
        {
            **_BEAK,
            "breast patch": ("yellow breast",),
            "eye stripe": ("eye stripe",),
            "wing bar": ("wing bar",),
        },
        _STANCES,
    ),
    Kind(
        "masked yellow warbler",
        "songbirds",
        "birds",
        draw_songbird,
        Plumage(
            back=(132, 136, 92),
            breast=(226, 196, 84),
            belly=(244, 232, 190),
            wing=(100, 104, 82),
            patch=(238, 196, 58),
            mask=(38, 34, 38),
        ),
        (*_WORDS, "mostly yellow"),
        {**_BEAK, "breast patch": ("yellow breast",), "mask": ("dark mask",)},
        _STANCES,
    ),
)
