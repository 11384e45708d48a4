"""Are pictures shown to a network of transformers as transformers itself shows them?

Pixels of drawn specimens in five shapes by our reading of ``preprocessor_config.json``, beside
those of transformers' own classes, run by the Python that ``FIELDGUIDE_PEERS_PYTHON`` names: the
largest difference, in the numbers that the network takes.
"""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.peers.transformers_processors import PROCESSORS
from benchmarks.problems.thousand_kinds import PEERS_PYTHON, refuse
from fieldguide.datasets import load_specimens
from fieldguide.features._network_config import read_told

ROOT = Path(__file__).parent.parent.parent
SIZES = ((300, 200), (200, 300), (241, 240), (90, 400), (61, 47))
SQUARE = {"height": 224, "width": 224}
CROPPED = {"do_center_crop": True, "crop_size": SQUARE, "resample": 3}
CONFIGS = {
    "CLIP": {**CROPPED, "size": {"shortest_edge": 224}},
    "Siglip": {"size": SQUARE, "resample": 3},
    "Bit": {**CROPPED, "size": {"shortest_edge": 256}},  # as DINOv2 has it
    "ViT": {"size": SQUARE, "resample": 2},
}


def run(data: Path | None, *, tiny: bool) -> dict:
    python = os.environ.get(PEERS_PYTHON)
    reason = refuse(python, "transformers")
    if reason is not None:
        return {"skipped": reason}
    drawn = load_specimens(n_per_kind=1, size_px=200).images
    pictures = [Image.fromarray(d).resize(s) for d, s in zip(drawn, SIZES, strict=False)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for i, picture in enumerate(pictures):
            picture.save(folder / f"{i}.png")
        for kind, config in CONFIGS.items():
            (folder / kind).mkdir()
            said = json.dumps({"image_processor_type": f"{kind}ImageProcessor", **config})
            (folder / kind / "preprocessor_config.json").write_text(said, encoding="utf-8")
        peer = ROOT / "benchmarks/peers/transformers_processors.py"
        done = subprocess.run([python, peer, folder], capture_output=True, text=True, check=True)
        gaps = {kind: find_gap(folder / kind, pictures) for kind in PROCESSORS}
    return {"transformers": done.stdout.split()[-1], "largest difference": gaps}


def find_gap(folder: Path, pictures: list[Image.Image]) -> float:
    preparation = read_told(folder / "model.onnx").preparation
    assert preparation is not None
    ours = [preparation.scale(preparation.cut(each, (0, 0, 1, 1))) for each in pictures]
    return float(
        np.abs(np.stack(ours).transpose(0, 3, 1, 2) - np.load(folder / "theirs.npy")).max()
    )


def table(result: dict) -> str:
    lines = [f"| transformers {result['transformers']} | largest difference |", "|---|---|"]
    gaps = result["largest difference"].items()
    return "\n".join([*lines, *(f"| {kind}ImageProcessor | {gap:.1e} |" for kind, gap in gaps)])
