"""Peer: the image processors of transformers, on Pillow, without torch.

    PYTHON benchmarks/peers/transformers_processors.py FOLDER

PYTHON is one that has transformers (5 or newer); it needs nothing of Fieldguide. FOLDER holds
pictures, ``*.png``, and a folder with a ``preprocessor_config.json`` for each class of
``PROCESSORS``; what each makes of the pictures is written there as ``theirs.npy``.
"""

import sys
from pathlib import Path

import numpy as np

PROCESSORS = ("CLIP", "Siglip", "Bit", "ViT")


def main(folder: Path) -> None:
    import transformers
    from PIL import Image

    pictures = [Image.open(path).convert("RGB") for path in sorted(folder.glob("*.png"))]
    for name in PROCESSORS:
        kind = getattr(transformers, f"{name}ImageProcessorPil")
        processor = kind.from_pretrained(folder / name)
        made = [processor(images=each, return_tensors="np")["pixel_values"][0] for each in pictures]
        np.save(folder / name / "theirs.npy", np.stack(made))
    print(transformers.__version__)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
