"""What a guide says of a new image, as lines of text."""

from typing import TYPE_CHECKING

from fieldguide.guide.answer import Answer
from fieldguide.guide.found_kinds import BRANCHES
from fieldguide.guide.views import KeyPath
from fieldguide.site.chapter_pages import load_page
from fieldguide.site.key_layout import choose_spanning
from fieldguide.site.phrases import (
    FOUND_NOTE,
    is_close_call,
    percent,
    word_group,
    word_path,
    word_step,
    word_unknown,
)

if TYPE_CHECKING:
    from fieldguide.guide import Guide


def answer_lines(guide: "Guide", answer: Answer) -> list[str]:
    """Return what the image is, what else it might be, where it belongs, and why."""
    verdict, because = word_unknown(answer)
    lines = [f"{verdict}: {because}"] if verdict else []
    if answer.kinds:
        (name, probability), *others = answer.kinds
        likely = f"{guide.shown_name(name)} ({probability:.0%})"
        lines.append(f"if one of them, {likely}" if verdict else likely)
        runners = [f"{guide.shown_name(other)} ({p:.0%})" for other, p in others[:3] if p >= 0.005]
        if runners:
            lines.append(f"or {', '.join(runners)}")
        group = word_group(answer.group, len(guide.kinds), guide.shown_name)
        lines += [group] if group and not verdict else []
        lines += [FOUND_NOTE] * (answer.kinds_from == BRANCHES)
    lines.append(f"in {answer.branch.sentence}")
    if answer.words:
        lines.append(f"seen: {', '.join(word for word, _ in answer.words[:8])}")
    lines += [
        line
        for name, said in answer.parts.items()
        for line in load_page(name).describe_answer(guide, said)
    ]
    if answer.path is not None:
        lines += ["by the key:", *(f"  {line}" for line in path_lines(guide, answer.path, name))]
    return lines


def path_lines(guide: "Guide", path: KeyPath, answer: str) -> list[str]:
    """Return the way through the key: at each couplet the side taken and the side left."""

    def few(kinds: tuple[str, ...], to: int | None) -> str:
        shown = choose_spanning(kinds, to, guide.couplets, 3)
        more = f" + {len(kinds) - 3} more" if len(kinds) > 3 else ""
        return ", ".join(guide.shown_name(kind) for kind in shown) + more or "others"

    lines = []
    for step in path.steps:
        couplet = guide.couplets[step.couplet - 1]
        minus, plus = few(couplet.minus, couplet.to_minus), few(couplet.plus, couplet.to_plus)
        sign, taken, left = ("+", plus, minus) if step.margin > 0 else ("−", minus, plus)
        words = word_step(step)
        side = f"{sign} {words}: like {taken}" if words else f"{sign} like {taken}, not {left}"
        close = ", a close call" if is_close_call(step.probability) else ""
        lines.append(f"{step.couplet} {side} ({percent(step.probability)}{close})")
    return [*lines, word_path(path, answer, guide.shown_name)]
