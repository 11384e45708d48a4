"""GIST: the layout of a scene as the energy of Gabor filters in a coarse grid.

The grey picture is brought to a square, its local contrast is evened out, and a bank of filters
is applied in the Fourier domain. With f the frequency in cycles per pixel and θ its direction, the
filter of frequency f_s and direction θ_k, one of K, is

    G(f, θ) = exp(−3.5·(f/f_s − 1)² − 2π·(K/8)²·(θ − θ_k)²),      f_s = 0.3 / 1.85^s,

and a column is the mean of |filtered picture| in one cell of the grid. Evened out is log(1 + grey)
less its mean in a Gaussian window, over 0.2 + its deviation in that window; grey is 0 to 255 and
the window falls to one half at 4 cycles per picture. The picture is mirrored at its sides before
that, so that opposite sides do not meet.

|·| does not change when a spectrum is moved. So only the part of the spectrum where G > 0.02 is
transformed back: for low frequencies, a picture of a quarter of the side.

Reference: A. Oliva, A. Torralba, "Modeling the shape of the scene: a holistic representation of
the spatial envelope", International Journal of Computer Vision 42 (2001).
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from PIL import Image
from scipy import fft

from fieldguide._check import check_number
from fieldguide.errors import InvalidArgument
from fieldguide.features.transformer import Column, ImageTransformer, to_grey

HIGHEST_FREQUENCY = 0.3  # cycles per pixel
SCALE_RATIO = 1.85
NEGLIGIBLE = 0.02
EVEN_CYCLES = 4  # per picture, at which the window of the local contrast falls to one half
SIDE_STEP_PX = 32  # margins and parts of the spectrum are whole numbers of pixels


class Gist(ImageTransformer):
    """Mean energies of Gabor filters in a grid, one row per image.

    Parameters
    ----------
    n_scales : int
        Each is 1.85 times as coarse as the one before.
    n_orientations : int
        Over 180°.
    n_cells : int
        Cells per side of the grid.
    side_px : int
        Side of the square that each picture is resized to, a multiple of 32.
    n_jobs : int, optional
        Threads; -1 is all cores. The answer does not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.features import Gist
    >>> layout = Gist()
    >>> layout.fit_transform(np.eye(64)[None]).shape
    (1, 512)
    >>> layout.get_feature_names_out()[0]
    'stripes at 90°, 29 per picture, in row 1, column 1 of 4×4'
    """

    def __init__(
        self,
        n_scales: int = 4,
        *,
        n_orientations: int = 8,
        n_cells: int = 4,
        side_px: int = 96,
        n_jobs: int | None = 1,
    ) -> None:
        self.n_scales = n_scales
        self.n_orientations = n_orientations
        self.n_cells = n_cells
        self.side_px = side_px
        self.n_jobs = n_jobs

    def _check_arguments(self) -> None:
        check_number("Gist", "n_scales", self.n_scales, 1, 5, integer=True)
        check_number("Gist", "n_orientations", self.n_orientations, 1, 32, integer=True)
        check_number("Gist", "n_cells", self.n_cells, 1, 16, integer=True)
        check_number("Gist", "side_px", self.side_px, 64, 512, integer=True)
        if self.side_px % SIDE_STEP_PX:
            raise InvalidArgument(
                f"side_px of Gist must be a multiple of {SIDE_STEP_PX}; got {self.side_px!r}."
            )

    def _describe(self, pixels: np.ndarray) -> np.ndarray:
        side = self.side_px
        image = Image.fromarray(pixels)
        resized = image.resize((side, side), Image.Resampling.BILINEAR, reducing_gap=3.0)
        evened = even_out(np.pad(255 * to_grey(np.asarray(resized)), side // 8, mode="symmetric"))
        spectrum = fft.fft2(evened, workers=1).ravel()
        bank = make_bank(side + 2 * (side // 8), self.n_scales, self.n_orientations)
        energies = [mean_energies(spectrum, band, self.n_cells) for band in bank]
        return np.concatenate(energies).astype(np.float32)

    def _columns(self) -> list[Column]:
        n = self.n_cells
        columns = []
        for scale in range(self.n_scales):
            waves = HIGHEST_FREQUENCY / SCALE_RATIO**scale * self.side_px
            for k in range(self.n_orientations):
                turn = (180 * k / self.n_orientations + 90) % 180  # stripes run across the wave
                for row in range(n):
                    for column in range(n):
                        name = (
                            f"stripes at {turn:.4g}°, {waves:.0f} per picture, "
                            f"in row {row + 1}, column {column + 1} of {n}×{n}"
                        )
                        window = (column / n, row / n, (column + 1) / n, (row + 1) / n)
                        columns.append(Column(name, window))
        return columns


class Band(NamedTuple):
    """One filter where it is not negligible: places of the flat spectrum, and its values there."""

    places: np.ndarray  # (height, width) of the part
    values: np.ndarray  # the same, complex64


def even_out(grey: np.ndarray) -> np.ndarray:
    """Return a square picture (n, n) with values 0 to 255 with its local contrast evened out."""
    n = len(grey)
    window = _window(n)
    log = np.log1p(grey)
    centred = log - fft.irfft2(fft.rfft2(log, workers=1) * window, s=(n, n), workers=1)
    variance = fft.irfft2(fft.rfft2(centred * centred, workers=1) * window, s=(n, n), workers=1)
    even: np.ndarray = centred / (np.float32(0.2) + np.sqrt(np.abs(variance)))
    return even


def mean_energies(spectrum: np.ndarray, band: Band, n_cells: int) -> np.ndarray:
    """Return the mean of |filtered picture| in each cell, by rows, without the mirrored margin."""
    filtered = fft.ifft2(spectrum[band.places] * band.values, workers=1, overwrite_x=True)
    height, width = filtered.shape
    top, left = height // 10, width // 10  # the margin is an eighth of the side
    energy = np.abs(filtered[top : height - top, left : width - left])
    rows, columns = _pool_matrix(len(energy), n_cells), _pool_matrix(energy.shape[1], n_cells)
    energies: np.ndarray = (rows @ energy @ columns.T).ravel() * (filtered.size / spectrum.size)
    return energies


def filter_values(n: int, scale: int, k: int, n_orientations: int) -> np.ndarray:
    """Return one filter over the whole spectrum (n, n), in the order of a Fourier transform."""
    y, x = np.meshgrid(-fft.fftfreq(n), fft.fftfreq(n), indexing="ij")
    frequency = np.hypot(x, y) * SCALE_RATIO**scale / HIGHEST_FREQUENCY
    away = np.arctan2(y, x) - np.pi * k / n_orientations
    away = (away + np.pi) % (2 * np.pi) - np.pi
    sharpness = 2 * np.pi * (n_orientations / 8) ** 2
    values: np.ndarray = np.exp(-3.5 * (frequency - 1) ** 2 - sharpness * away**2)
    values[0, 0] = 0  # the mean is no wave
    return values


@lru_cache(maxsize=4)
def make_bank(n: int, n_scales: int, n_orientations: int) -> tuple[Band, ...]:
    """Return the filters for a picture of n×n, scale by scale."""
    bank = []
    for scale in range(n_scales):
        for k in range(n_orientations):
            values = filter_values(n, scale, k, n_orientations)
            bank.append(_cut_band(values, scale, k / n_orientations))
    return tuple(bank)


def _cut_band(values: np.ndarray, scale: int, half_turns: float) -> Band:
    """Return the smallest part of a filter about its centre that leaves out only what is small."""
    n = len(values)
    peak = n * HIGHEST_FREQUENCY / SCALE_RATIO**scale
    matters = values > NEGLIGIBLE
    rows = _cut(np.any(matters, axis=1), -round(peak * np.sin(np.pi * half_turns)))
    columns = _cut(np.any(matters, axis=0), round(peak * np.cos(np.pi * half_turns)))
    part = values[np.ix_(rows, columns)] * np.outer(_centre(rows, n), _centre(columns, n))
    return Band(rows[:, None] * n + columns, part.astype(np.complex64))


def _cut(matters: np.ndarray, centre: int) -> np.ndarray:
    """Return the fewest quarters of a circle of n places about ``centre`` with all that matter."""
    n = len(matters)
    for m in (n // 4, n // 2, 3 * n // 4, n):
        places = (centre + np.arange(m) - m // 2) % n
        if matters[places].sum() == matters.sum():
            break
    return places


def _centre(places: np.ndarray, n: int) -> np.ndarray:
    """Return the phases that move each of m large pixels onto the middle of n/m small ones."""
    shift = (n / len(places) - 1) / 2
    phases: np.ndarray = np.exp(2j * np.pi * fft.fftfreq(n)[places] * shift)
    return phases


@lru_cache(maxsize=16)
def _pool_matrix(n: int, n_cells: int) -> np.ndarray:
    """Return the share of each of n pixels in the mean of each cell, (n_cells, n), float32."""
    edges = np.arange(n_cells + 1) * n / n_cells
    low = np.maximum(edges[:-1, None], np.arange(n))
    high = np.minimum(edges[1:, None], np.arange(1, n + 1))
    shares: np.ndarray = (np.maximum(0, high - low) * n_cells / n).astype(np.float32)
    return shares


@lru_cache(maxsize=4)
def _window(n: int) -> np.ndarray:
    """Return a Gaussian in the half spectrum (n, n//2 + 1) that is ½ at EVEN_CYCLES."""
    y, x = np.meshgrid(fft.fftfreq(n, 1 / n), fft.rfftfreq(n, 1 / n), indexing="ij")
    window: np.ndarray = (0.5 ** ((x * x + y * y) / EVEN_CYCLES**2)).astype(np.float32)
    return window
