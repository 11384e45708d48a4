"""``fieldguide words``."""

from pathlib import Path
from typing import Annotated

import typer

from fieldguide.errors import FieldguideError
from fieldguide.terminal.arguments import Debug, one_line_errors
from fieldguide.terminal.console import say
from fieldguide.terminal.targets import check_target

_MOST_BYTES = 10_000_000  # of a list of words


@one_line_errors
def words(
    vocabulary: Annotated[
        Path, typer.Option(help="A text file with a word, or a few, on each line.")
    ],
    tower: Annotated[
        Path,
        typer.Option(help="The ONNX file of the text tower, with its tokenizer.json beside it."),
    ],
    out: Annotated[
        Path,
        typer.Option(help="The file to write: vocabulary.safetensors beside the image tower."),
    ],
    template: Annotated[
        list[str] | None,
        typer.Option(
            help="The text that a word is put into, such as 'a photo of a {}.'; give it several "
            "times for the mean of several. By default the word alone.",
            show_default=False,
        ),
    ] = None,
    scale: Annotated[float, typer.Option(help="The logit scale of the network.")] = 100.0,
    bias: Annotated[
        float | None,
        typer.Option(
            help="The logit bias of SigLIP and its like; CLIP has none.", show_default=False
        ),
    ] = None,
    debug: Debug = False,
) -> None:
    """Make a vocabulary of any list of words, in any language, by the text tower of a network.

    'fieldguide build --embedder IMAGE_TOWER --vocabulary FILE' then tells pictures in these words.
    Needs the extra text.

    Example: fieldguide words --vocabulary words.txt --tower clip/text_model.onnx
    --out clip/vocabulary.safetensors
    """
    from fieldguide.features import TextTower, TextVocabulary

    listed = _read_list(vocabulary)
    check_target(out, "--out", _is_vocabulary)
    rows = TextTower(tower).read_words(listed, template or ["{}"])
    TextVocabulary.make(listed, rows, logit_scale=scale, logit_bias=bias).save(out)
    say(f"{len(listed):,} words of {rows.shape[1]:,} numbers each are in {out}")


def _is_vocabulary(path: Path) -> bool:
    from fieldguide.features import TextVocabulary

    try:
        TextVocabulary.open(path)
    except FieldguideError:
        return False
    return True


def _read_list(path: Path) -> list[str]:
    """Return the different words of a text file, in their order."""
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            raise FieldguideError(f"{str(path)!r} is no text file of at most 10 MB; give a list.")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise FieldguideError(f"{str(path)!r} cannot be read: {error.strerror}.") from None
    except UnicodeError:
        raise FieldguideError(f"{str(path)!r} is not a text in UTF-8; save it as one.") from None
    found = list(dict.fromkeys(filter(None, (" ".join(line.split()) for line in text.split("\n")))))
    if not found:
        raise FieldguideError(f"There is no word in {str(path)!r}; write one on each line.")
    return found
