"""Steps of a build are timed by their names."""

from fieldguide.guide import build
from fieldguide.guide.build import StepClock


def test_a_step_that_is_named_again_goes_on(monkeypatch):
    moments = iter([0.0, 2.0, 2.0, 5.0, 5.0, 9.0])
    monkeypatch.setattr(build.time, "monotonic", lambda: next(moments))
    shown = []
    clock = StepClock(lambda *told: shown.append(told))
    clock("reading images", 0, 2)
    clock("reading images", 1, 2)
    clock("growing the tree", 0, 1)
    clock("reading images", 2, 2)
    assert clock.stop() == {"reading images": 6.0, "growing the tree": 3.0}
    assert [step for step, _, _ in shown] == [
        *2 * ["reading images"],
        "growing the tree",
        "reading images",
    ]
