"""Draw where marks are in a picture: the rest fades to paper, and a line is drawn around the most.

Nothing is said by colour alone: the picture keeps its own colours where the heat is, and the
places above nine tenths of the picture are outlined.
"""

import io

import numpy as np
from PIL import Image, ImageDraw
from scipy.ndimage import gaussian_filter
from skimage.measure import find_contours

PAPER, LINE, HALO = (248, 243, 232), (143, 58, 28), (255, 255, 255)
OUTLINED = 0.9  # quantile of the heat inside the line
SIZE_PX = 288  # of the longer side
_FADED = 0.24  # how much is left of the picture where there is no heat
_SMOOTHING = 0.8  # cells
_STEP = 3  # every third point of a line is enough
_FINER = 2  # the drawing is made so many times larger, for smooth lines


def draw_heat(image: Image.Image, heat: np.ndarray) -> Image.Image:
    """Return a small copy of ``image`` with the places of ``heat``, (rows, columns), brought out.

    A picture without any heat is faded as a whole, and has no line.
    """
    small = image.convert("RGB")
    scale = SIZE_PX / max(small.size)
    size = max(1, round(small.width * scale)), max(1, round(small.height * scale))
    small = small.resize(size, Image.Resampling.LANCZOS)
    field = enlarge_heat(heat, (size[0], size[1]))
    shown = field / max(float(field.max()), 1e-12)
    keep = (_FADED + (1 - _FADED) * np.sqrt(shown))[:, :, None]
    pixels = np.asarray(small, dtype=np.float64) * keep + np.array(PAPER) * (1 - keep)
    drawn = Image.fromarray(np.clip(np.rint(pixels), 0, 255).astype(np.uint8))
    if field.max() <= 0:
        return drawn
    large = drawn.resize((size[0] * _FINER, size[1] * _FINER), Image.Resampling.BILINEAR)
    draw = ImageDraw.Draw(large)
    lines = [(_FINER * (line + 0.5)).ravel().tolist() for line in outline_heat(field)]
    for width, colour in ((4 * _FINER, HALO), (2 * _FINER, LINE)):
        for line in lines:
            draw.line(line, fill=colour, width=width, joint="curve")
    return large.reduce(_FINER)


def enlarge_heat(heat: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Return the heat smoothed, a value for each pixel, (height, width), none below 0."""
    smooth = gaussian_filter(np.asarray(heat, dtype=np.float64), _SMOOTHING)
    field = Image.fromarray(smooth.astype(np.float32)).resize(size, Image.Resampling.BICUBIC)
    return np.maximum(np.asarray(field, dtype=np.float64), 0)


def outline_heat(field: np.ndarray) -> list[np.ndarray]:
    """Return closed lines of (x, y) around the tenth of the pixels with the largest values."""
    level = float(np.quantile(field, OUTLINED))
    framed = np.pad(field, 1)  # so that lines close at the edge of the picture
    lines = find_contours(framed, max(level, 1e-12))
    limit = np.array(field.shape) - 1
    few = [np.vstack([line[:-1:_STEP], line[:1]]) for line in lines if len(line) > 4 * _STEP]
    return [np.clip(line - 1, 0, limit)[:, ::-1] for line in few]


def encode_jpeg(image: Image.Image, quality: int = 86) -> bytes:
    """Return a picture as a JPEG file."""
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality)
    return buffer.getvalue()
