"""Read what lies beside a network and says how pictures are to be shown to it.

    preprocessor_config.json    as transformers writes it (CLIP, SigLIP, DINOv2, ViT, ConvNeXt, …)
    processor_config.json       the same, inside ``image_processor``, as its newer versions do
    open_clip_config.json       as open_clip writes it (BioCLIP among others)
    config.json                 of transformers: side of a patch, names of classes

They lie in the folder of the ONNX file, or in the one around it where that is called ``onnx``.
In the first three, ``fieldguide`` may say more: {"output": name, "pooling": "cls", "mean" or
"pooler", "normalize": true}. Whatever is not understood is refused in one sentence: a network that
is shown pictures in another way than it learnt gives numbers that look right and are not.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from PIL import Image

from fieldguide.errors import EmbedderError
from fieldguide.features._onnx_file import MOST_PX, read_file
from fieldguide.features._preparation import IMAGENET, Preparation, ToldPreparation, Triple

POOLINGS = ("cls", "mean", "pooler")
_CLIP = ((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711))
_HALF = ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
_MOST_BYTES = 4_000_000  # of a file: config.json names up to 20,000 classes
# do_… of transformers that are obeyed, or change nothing in an RGB picture.
_OBEYED = {"do_resize", "do_center_crop", "do_rescale", "do_normalize", "do_convert_rgb"}
_HARMLESS = {"do_reduce_labels"}
_REFUSED = ("rescale_offset", "max_num_patches", "size_divisor", "use_square_size")
_WARPED_FROM = 384  # ConvNeXt squashes pictures from this size on


class _Family(NamedTuple):
    """What a class of transformers does where its file does not say."""

    mean_std: tuple[Triple, Triple]
    resample: int
    size: Any
    crop: int | None
    is_square: bool  # what one number as size means


_FAMILIES = {
    "CLIP": _Family(_CLIP, 3, {"shortest_edge": 224}, 224, False),
    "Bit": _Family(_CLIP, 3, {"shortest_edge": 224}, 224, False),
    "Siglip": _Family(_HALF, 3, {"height": 224, "width": 224}, None, True),
    "ViT": _Family(_HALF, 2, {"height": 224, "width": 224}, None, True),
    "DeiT": _Family(_HALF, 3, {"height": 256, "width": 256}, 224, True),
    "ConvNext": _Family(IMAGENET, 3, {"shortest_edge": 384}, None, False),
}


@dataclass(frozen=True)
class Told:
    """What the files beside a network say; nothing where there are none.

    Attributes
    ----------
    preparation : Preparation or None
    source : str
        The name of the file that says so; "" for none.
    output, pooling : str or None
    normalize : bool
    patch_px : int or None
        Side of a patch of the picture that a token stands for.
    is_imagenet : bool
        Whether 1000 classes may be ImageNet's.
    """

    preparation: Preparation | None = None
    source: str = ""
    output: str | None = None
    pooling: str | None = None
    normalize: bool = False
    patch_px: int | None = None
    is_imagenet: bool = True


def read_told(network: Path) -> Told:
    """Return what is told of a network; EmbedderError where that is not understood."""
    folders = [network.parent]
    if network.absolute().parent.name == "onnx":
        folders.append(network.absolute().parent.parent)
    for folder in folders:
        for name, parse in _PARSERS.items():
            path = folder / name
            content = _read_json(path)
            if content is None or (name == "processor_config.json" and not _holds_images(content)):
                continue
            says = _Says(path, content)
            known = _read_json(folder / "config.json")
            return _complete(says, parse(says), _Says(folder / "config.json", known or {}))
    return Told()


def _complete(says: "_Says", preparation: Preparation, model: "_Says") -> Told:
    own = says.part("fieldguide")
    unknown = [str(key) for key in own.content if key not in ("output", "pooling", "normalize")]
    if unknown:
        own.refuse(unknown[0], own.content[unknown[0]], "output, pooling and normalize alone")
    output, pooling = own.content.get("output"), own.content.get("pooling")
    if output is not None and not isinstance(output, str):
        own.refuse("output", output, "the name of an output")
    if pooling is not None and pooling not in POOLINGS:
        own.refuse("pooling", pooling, "cls, mean or pooler")
    return Told(
        preparation,
        says.path.name,
        output,
        pooling,
        own.flag("normalize", False),
        _find_patch(model),
        _may_be_imagenet(model.content.get("id2label")),
    )


def _find_patch(model: "_Says") -> int | None:
    vision = model.content.get("vision_config")
    for content in (vision, model.content):
        patch = content.get("patch_size") if isinstance(content, Mapping) else None
        if isinstance(patch, int) and 1 <= patch <= MOST_PX:
            return patch
    return None


def _may_be_imagenet(classes: Any) -> bool:
    """Whether names of classes, if there are some, are ImageNet's, whose first is a fish."""
    first = classes.get("0") if isinstance(classes, Mapping) else None
    return first is None or str(first) == "LABEL_0" or str(first).lower().startswith("tench")


def _holds_images(content: Any) -> bool:
    return isinstance(content, Mapping) and isinstance(content.get("image_processor"), Mapping)


class _Says:
    """A JSON object of a file, and how its values are refused."""

    def __init__(self, path: Path, content: Any, where: str = "") -> None:
        self.path, self.where = path, where
        if not isinstance(content, Mapping):
            raise EmbedderError(f"{self.name} must be a JSON object; got {_short(content)}.")
        self.content = content

    @property
    def name(self) -> str:
        return f"{str(self.path)!r}" + (f", {self.where}" if self.where else "")

    def part(self, key: str) -> "_Says":
        """Return an object inside; an empty one where there is none."""
        found = self.content.get(key)
        return _Says(self.path, {} if found is None else found, key)

    def refuse(self, key: str, value: Any, allowed: str) -> NoReturn:
        """Refuse what is not understood."""
        raise EmbedderError(
            f"{key[:80]!r} in {self.name} is {_short(value)}, which is not understood: {allowed}; "
            "correct the file, or export the network again."
        )

    def flag(self, key: str, default: bool) -> bool:
        """Return a truth value; null is false."""
        value = self.content.get(key, default)
        if value is not None and not isinstance(value, bool):
            self.refuse(key, value, "true or false")
        return bool(value)

    def side(self, key: str, value: Any) -> int:
        """Return a number of pixels."""
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_PX:
            self.refuse(key, value, f"it must be a whole number from 1 to {MOST_PX}")
        return int(value)

    def square(self, key: str, value: Any) -> int:
        """Return the side of a square that is told as a number, a pair or height and width."""
        if isinstance(value, Mapping) and set(value) == {"height", "width"}:
            value = [value["height"], value["width"]]
        if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2:
            if value[0] != value[1]:
                self.refuse(key, value, "pictures must be shown as squares")
            value = value[0]
        return self.side(key, value)

    def triple(self, key: str, default: Triple | None, *, is_positive: bool = False) -> Triple:
        """Return three numbers."""
        value: Any = self.content.get(key)
        value = default if value is None else value
        given: Any = [value] * 3 if _is_number(value) else value
        is_list = isinstance(given, Sequence) and not isinstance(given, str) and len(given) == 3
        if not is_list or not all(map(_is_number, given)):
            self.refuse(key, value, "it must be three numbers")
        if is_positive and min(given) <= 0:
            self.refuse(key, value, "all three must be above 0")
        return (float(given[0]), float(given[1]), float(given[2]))


def _parse_transformers(says: _Says) -> Preparation:
    content, kind = says.content, _find_kind(says.content)
    family = _FAMILIES.get(kind.removesuffix("Fast").removesuffix("Pil").partition("Image")[0])
    for key, value in content.items():
        is_asked = str(key).startswith("do_") and key not in _OBEYED | _HARMLESS
        if (is_asked or key in _REFUSED) and value:
            says.refuse(str(key), value, "pictures can be resized, cropped and scaled alone")
    if not says.flag("do_resize", True):
        says.refuse("do_resize", content["do_resize"], "pictures of all sizes must be resized")
    size = content.get("size", family and family.size)
    crops = says.flag("do_center_crop", family is not None and family.crop is not None)
    crop = content.get("crop_size", family and family.crop) if crops else None
    crop_px = says.square("crop_size", crop) if crops else None
    if family is not None and family is _FAMILIES["ConvNext"] and not crops:
        squashes, resize_px, crop_px = _read_convnext(says, size)
    elif isinstance(size, Mapping) and set(size) == {"shortest_edge"}:
        squashes, resize_px = False, says.side("size", size["shortest_edge"])
    elif isinstance(size, Mapping) and set(size) != {"height", "width"}:
        says.refuse("size", dict(size), "it must be a shortest_edge, or height and width")
    else:
        resize_px = says.square("size", size)
        squashes = not crops if family is None else family.is_square
        squashes = squashes or isinstance(size, Mapping)
    if crop_px is None and not squashes:
        says.refuse("do_center_crop", False, "pictures must be shown as squares")
    resample = content.get("resample", family and family.resample)
    if isinstance(resample, bool) or resample not in tuple(Image.Resampling):
        says.refuse("resample", resample, "it must be one of Pillow's filters, 0 to 5")
    return ToldPreparation(
        _check_crop(says, resize_px, crop_px),
        *_read_scale(says, family),
        resize_px=resize_px,
        squashes=squashes,
        resample=Image.Resampling(resample),
    )


def _find_kind(content: Mapping[str, Any]) -> str:
    """Return the class of transformers that wrote a file, such as CLIPImageProcessor."""
    kind = content.get("image_processor_type") or content.get("feature_extractor_type")
    return str(kind or "").replace("FeatureExtractor", "ImageProcessor")


def _read_convnext(says: _Says, size: Any) -> tuple[bool, int, int]:
    """Return whether pictures are squashed, to which size they are scaled, and the size shown."""
    is_edge = isinstance(size, Mapping) and set(size) == {"shortest_edge"}
    shorter = size["shortest_edge"] if is_edge else size
    size_px, share = says.side("size", shorter), says.content.get("crop_pct", 0.875)
    if size_px >= _WARPED_FROM:
        return True, size_px, size_px
    if not _is_number(share) or not 0.1 <= share <= 1:
        says.refuse("crop_pct", share, "it must be a share from 0.1 to 1")
    return False, int(size_px / share), size_px


def _read_scale(says: _Says, family: _Family | None) -> tuple[Triple, Triple, float]:
    """Return mean, standard deviation and divisor of the pixels."""
    factor = says.content.get("rescale_factor", 1 / 255)
    if not _is_number(factor) or factor <= 0:
        says.refuse("rescale_factor", factor, "it must be a number above 0")
    divisor = 1 / factor if says.flag("do_rescale", True) else 1.0
    if not says.flag("do_normalize", True):
        return (0.0, 0.0, 0.0), (1.0, 1.0, 1.0), divisor
    mean, std = (None, None) if family is None else family.mean_std
    return (
        says.triple("image_mean", mean),
        says.triple("image_std", std, is_positive=True),
        divisor,
    )


def _parse_processor(says: _Says) -> Preparation:
    return _parse_transformers(says.part("image_processor"))


def _parse_open_clip(says: _Says) -> Preparation:
    shown, vision = says.part("preprocess_cfg"), says.part("model_cfg").content.get("vision_cfg")
    size = vision.get("image_size", 224) if isinstance(vision, Mapping) else 224
    resize_px = shown.square("size", shown.content.get("size", size))
    for key, allowed in (
        ("mode", ("RGB",)),
        ("resize_mode", ("shortest", "squash")),
        ("interpolation", ("bicubic", "bilinear")),
    ):
        value = shown.content.get(key, allowed[0])
        if value not in allowed:
            shown.refuse(key, value, f"it must be {' or '.join(allowed)}")
    bilinear = shown.content.get("interpolation") == "bilinear"
    return ToldPreparation(
        resize_px,
        shown.triple("mean", _CLIP[0]),
        shown.triple("std", _CLIP[1], is_positive=True),
        resize_px=resize_px,
        squashes=shown.content.get("resize_mode") == "squash",
        resample=Image.Resampling.BILINEAR if bilinear else Image.Resampling.BICUBIC,
        rounds=True,
    )


_PARSERS = {
    "preprocessor_config.json": _parse_transformers,
    "processor_config.json": _parse_processor,
    "open_clip_config.json": _parse_open_clip,
}


def _check_crop(says: _Says, resize_px: int, crop_px: int | None) -> int:
    """Return the size that is shown; a crop is no larger than the picture."""
    if crop_px is not None and crop_px > resize_px:
        says.refuse("crop_size", crop_px, f"pictures are scaled to {resize_px} pixels before")
    return crop_px or resize_px


def _read_json(path: Path) -> Any:
    """Return the value in a file; None where there is no file."""
    try:
        data = read_file(path, _MOST_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise EmbedderError(
            f"{str(path)!r}, which says how the network is shown pictures, cannot be read: "
            f"{error.strerror or error}."
        ) from None
    try:
        return json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise EmbedderError(
            f"{str(path)!r}, which says how the network is shown pictures, is no JSON; get the "
            "file of the network again."
        ) from None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9


def _short(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 80 else f"{text[:77]}…"
