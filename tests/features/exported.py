"""Small networks of random weights, written as the tools that export such networks write them.

Each has the inputs, outputs and file names of its kind, and the configuration file beside it. They
are transformers in miniature: patches become tokens, tokens are mixed once, and are pooled.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPENAI = {
    "mean": [0.48145466, 0.4578275, 0.40821073],
    "std": [0.26862954, 0.26130258, 0.27577711],
}
CLIP = {
    "crop_size": {"height": 32, "width": 32},
    "do_center_crop": True,
    "do_convert_rgb": True,
    "do_normalize": True,
    "do_rescale": True,
    "do_resize": True,
    "feature_extractor_type": "CLIPFeatureExtractor",
    "image_mean": OPENAI["mean"],
    "image_processor_type": "CLIPImageProcessor",
    "image_std": OPENAI["std"],
    "resample": 3,
    "rescale_factor": 0.00392156862745098,
    "size": {"shortest_edge": 32},
}
SIGLIP = {
    "do_normalize": True,
    "do_rescale": True,
    "do_resize": True,
    "image_mean": [0.5, 0.5, 0.5],
    "image_processor_type": "SiglipImageProcessor",
    "image_std": [0.5, 0.5, 0.5],
    "processor_class": "SiglipProcessor",
    "resample": 3,
    "rescale_factor": 0.00392156862745098,
    "size": {"height": 32, "width": 32},
}
DINOV2 = {
    **CLIP,
    "crop_size": {"height": 224, "width": 224},
    "image_mean": [0.485, 0.456, 0.406],
    "image_processor_type": "BitImageProcessor",
    "image_std": [0.229, 0.224, 0.225],
    "size": {"shortest_edge": 256},
}
del DINOV2["feature_extractor_type"]
VIT = {  # as the first versions wrote it: the rest is what its class does
    "do_normalize": True,
    "do_resize": True,
    "feature_extractor_type": "ViTFeatureExtractor",
    "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.5, 0.5, 0.5],
    "resample": 2,
    "size": 32,
}
BIOCLIP = {
    "model_cfg": {
        "embed_dim": 8,
        "vision_cfg": {"image_size": 32, "layers": 12, "width": 768, "patch_size": 8},
        "text_cfg": {"context_length": 77, "vocab_size": 49408},
    },
    "preprocess_cfg": OPENAI,
}


class Exported:
    """A graph in the making, and the folder that it goes to."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, *shape: int) -> str:
        array = self.rng.normal(0, 1 / np.sqrt(np.prod(shape[1:]) or 1), shape)
        return self.put(array.astype(np.float32))

    def put(self, array: np.ndarray) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def add(self, operator: str, inputs: Sequence[str], output: str = "", **more: object) -> str:
        output = output or f"value_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], **more))
        return output

    def tokens(
        self, pixels: str, side: int, patch: int, dim: int, *, n_before: int, is_free: bool = False
    ) -> str:
        """Tokens of patches, mixed once; with a position added where the size is fixed."""
        x = self.add("Conv", [pixels, self.constant(dim, 3, patch, patch)], strides=[patch] * 2)
        x = self.add("Reshape", [x, self.put(np.array([0, dim, -1]))])
        x = self.add("Transpose", [x], perm=[0, 2, 1])
        if n_before:
            shape = self.add("Shape", [x], end=1)
            shape = self.add("Concat", [shape, self.put(np.array([n_before, dim]))], axis=0)
            first = self.add("Expand", [self.constant(1, n_before, dim), shape])
            x = self.add("Concat", [first, x], axis=1)
        if not is_free:
            x = self.add("Add", [x, self.constant(1, n_before + (side // patch) ** 2, dim)])
        mean = self.add("ReduceMean", [x], axes=[1], keepdims=1)
        x = self.add("Add", [x, self.add("MatMul", [mean, self.constant(dim, dim)])])
        return self.add("Tanh", [self.add("MatMul", [x, self.constant(dim, dim)])])

    def pick(self, tokens: str, output: str = "") -> str:
        """The first token."""
        return self.add("Gather", [tokens, self.put(np.array(0))], output, axis=1)

    def save(
        self,
        path: Path,
        inputs: dict[str, tuple[int, list]],
        outputs: dict[str, list],
        config: dict | None = None,
        name: str = "preprocessor_config.json",
        beside: Path | None = None,
    ) -> Path:
        graph = helper.make_graph(
            self.nodes,
            "main_graph",
            [helper.make_tensor_value_info(n, *each) for n, each in inputs.items()],
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in outputs.items()],
            self.constants,
        )
        version = {"opset_imports": [helper.make_opsetid("", 17)], "ir_version": 9}
        path.parent.mkdir(parents=True, exist_ok=True)
        onnx.save(helper.make_model(graph, **version), path)
        if config is not None:
            ((beside or path.parent) / name).write_text(json.dumps(config), encoding="utf-8")
        return path


FREE = ["batch_size", "num_channels", "height", "width"]


def save_clip(folder: Path, config: dict | None = CLIP) -> Path:
    """CLIP's image tower: CLS of 17 tokens, and a projection."""
    to = Exported()
    tokens = to.tokens("pixel_values", 32, 8, 12, n_before=1)
    to.add("Identity", [tokens], "last_hidden_state")
    pooled = to.pick(tokens, "pooler_output")
    to.add("MatMul", [pooled, to.constant(12, 8)], "image_embeds")
    outputs = {
        "last_hidden_state": ["batch_size", "tokens", 12],
        "pooler_output": ["batch_size", 12],
        "image_embeds": ["batch_size", 8],
    }
    path = folder / "onnx" / "vision_model.onnx"
    path.parent.mkdir(parents=True, exist_ok=True)
    inputs = {"pixel_values": (TensorProto.FLOAT, FREE)}
    return to.save(path, inputs, outputs, config, beside=folder)


def save_two_towers(folder: Path, config: dict | None = CLIP, *, mixes: bool = False) -> Path:
    """CLIP's image and text in one file; with ``mixes``, all that comes out needs both."""
    to = Exported()
    tokens = to.tokens("pixel_values", 32, 8, 12, n_before=1)
    image = to.add("MatMul", [to.pick(tokens), to.constant(12, 8)], "image_embeds")
    words = to.add("Gather", [to.constant(50, 8), "input_ids"])
    mask = to.add("Cast", ["attention_mask"], to=TensorProto.FLOAT)
    mask = to.add("Unsqueeze", [mask, to.put(np.array([2]))])
    text = to.add("ReduceSum", [to.add("Mul", [words, mask]), to.put(np.array([1]))], keepdims=0)
    to.add("Identity", [text], "text_embeds")
    to.add("MatMul", [text, to.add("Transpose", [image], perm=[1, 0])], "logits_per_text")
    to.add("Transpose", ["logits_per_text"], "logits_per_image", perm=[1, 0])
    inputs = {
        "input_ids": (TensorProto.INT64, ["text", "length"]),
        "pixel_values": (TensorProto.FLOAT, FREE),
        "attention_mask": (TensorProto.INT64, ["text", "length"]),
    }
    outputs = {
        "logits_per_image": ["image", "text"],
        "logits_per_text": ["text", "image"],
        "text_embeds": ["text", 8],
        "image_embeds": ["image", 8],
    }
    if mixes:
        outputs = {name: outputs[name] for name in ("logits_per_image", "logits_per_text")}
    return to.save(folder / "model.onnx", inputs, outputs, config)


def save_siglip(folder: Path, config: dict | None = SIGLIP) -> Path:
    """SigLIP's image tower: 16 tokens without CLS, pooled by a layer of its own."""
    to = Exported(1)
    tokens = to.tokens("pixel_values", 32, 8, 12, n_before=0)
    to.add("Identity", [tokens], "last_hidden_state")
    score = to.add("MatMul", [tokens, to.constant(12, 1)])
    share = to.add("Softmax", [score], axis=1)
    weighed = to.add("Mul", [tokens, share])
    to.add("ReduceSum", [weighed, to.put(np.array([1]))], "pooler_output", keepdims=0)
    outputs = {
        "last_hidden_state": ["batch_size", 16, 12],
        "pooler_output": ["batch_size", 12],
    }
    inputs = {"pixel_values": (TensorProto.FLOAT, ["batch_size", 3, 32, 32])}
    return to.save(folder / "vision_model.onnx", inputs, outputs, config)


def save_dinov2(folder: Path, config: dict | None = DINOV2, *, is_free: bool = False) -> Path:
    """DINOv2: 257 tokens of 384 numbers, and nothing else."""
    to = Exported(2)
    tokens = to.tokens("pixel_values", 224, 14, 384, n_before=1, is_free=is_free)
    to.add("Identity", [tokens], "last_hidden_state")
    inputs = {"pixel_values": (TensorProto.FLOAT, FREE)}
    outputs = {"last_hidden_state": ["batch_size", "tokens", 384]}
    path = to.save(folder / "model.onnx", inputs, outputs, config)
    (folder / "config.json").write_text(json.dumps({"model_type": "dinov2", "patch_size": 14}))
    return path


def save_bioclip(folder: Path, config: dict | None = BIOCLIP) -> Path:
    """The image tower of a model of open_clip, exported by torch: one output, a size of its own."""
    to = Exported(3)
    tokens = to.tokens("image", 32, 8, 12, n_before=1)
    to.add("MatMul", [to.pick(tokens), to.constant(12, 8)], "embedding")
    inputs = {"image": (TensorProto.FLOAT, ["batch", 3, 32, 32])}
    outputs = {"embedding": ["batch", 8]}
    name = "open_clip_config.json"
    return to.save(folder / "bioclip_visual.onnx", inputs, outputs, config, name)


def save_text_tower(folder: Path, config: str = "clip", *, longest: int | None = None) -> Path:
    """A text tower, and the tokenizer beside it: the mean of the tokens' rows, and a projection.

    As CLIP's it takes a mask and texts of any length; as SigLIP's it takes no mask, and texts are
    filled up to one length.
    """
    to = Exported(2)
    rows = to.add("Gather", [to.constant(50, 12), "input_ids"])
    inputs = {"input_ids": (TensorProto.INT64, ["text", longest or "length"])}
    if config == "clip":
        inputs["attention_mask"] = inputs["input_ids"]
        mask = to.add("Cast", ["attention_mask"], to=TensorProto.FLOAT)
        mask = to.add("Unsqueeze", [mask, to.put(np.array([2]))])
        total = to.add(
            "ReduceSum", [to.add("Mul", [rows, mask]), to.put(np.array([1]))], keepdims=0
        )
        count = to.add("ReduceSum", [mask, to.put(np.array([1]))], keepdims=0)
        mean, output = to.add("Div", [total, count]), "text_embeds"
    else:
        mean, output = to.add("ReduceMean", [rows], axes=[1], keepdims=0), "pooler_output"
    to.add("Identity", [rows], "last_hidden_state")
    to.add("MatMul", [to.add("Tanh", [mean]), to.constant(12, 8)], output)
    outputs = {"last_hidden_state": ["text", "length", 12], output: ["text", 8]}
    path = to.save(folder / "onnx" / "text_model.onnx", inputs, outputs)
    words = ["<unk>", "<end>", "a", "photo", "of", "heron", "lamp", "Reiher", "サギ", "tall"]
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "<end>", "type_id": 0}},
            ],
            "pair": [],
            "special_tokens": {"<end>": {"id": "<end>", "ids": [1], "tokens": ["<end>"]}},
        },
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {word: k for k, word in enumerate(words)},
            "unk_token": "<unk>",
        },
    }
    told = {
        "tokenizer.json": tokenizer,
        "tokenizer_config.json": {"pad_token": "<end>"},
        "config.json": {"model_type": config, "text_config": {"max_position_embeddings": 6}},
    }
    for name, content in told.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return path
