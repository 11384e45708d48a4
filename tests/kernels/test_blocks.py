"""Blocks, files and threads: the same matrix, to the last bit."""

import numpy as np
import pytest
from scipy import sparse

from fieldguide.kernels import KERNELS, chi2_kernel, exponential_chi2_kernel, kernel_blocks
from fieldguide.kernels.blocks import _prepare
from tests.kernels.histograms import draw

BY_BLAS = ("hellinger", "rbf")


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("density", [0.08, 1.0])
@pytest.mark.parametrize("is_compressed", [False, True])
def test_blocks_are_the_whole(name, density, is_compressed, seed):
    X = draw(seed, 150, 40, density, np.float32)
    X = sparse.csr_array(X) if is_compressed else X
    whole = KERNELS[name](X)
    for block_rows in (1, 37, 1000, None):
        places, blocks = zip(*kernel_blocks(X, kernel=name, block_rows=block_rows), strict=True)
        stacked = np.concatenate(blocks)
        if name in BY_BLAS and density == 1:
            np.testing.assert_allclose(stacked, whole, rtol=1e-6)
        else:
            np.testing.assert_array_equal(stacked, whole)
        assert [place.start for place in places] == list(range(0, 150, block_rows or 150))
        assert places[-1].stop == 150
    against = X[:30]
    (_, block), *rest = kernel_blocks(X, against, name, dtype=np.float64)
    assert not rest
    np.testing.assert_allclose(block, KERNELS[name](X, against), rtol=1e-6)
    assert block.dtype == np.float64


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("density", [0.08, 1.0])
def test_the_number_of_threads_changes_nothing(name, density, seed):
    X, Y = draw([seed, 0], 300, 20, density), draw([seed, 1], 90, 20, density)
    for rows in ((X,), (X, Y)):
        np.testing.assert_array_equal(KERNELS[name](*rows, n_jobs=3), KERNELS[name](*rows))
        blocks = [block for _, block in kernel_blocks(*rows, kernel=name, n_jobs=2)]
        alone = [block for _, block in kernel_blocks(*rows, kernel=name, n_jobs=1)]
        np.testing.assert_array_equal(np.concatenate(blocks), np.concatenate(alone))


@pytest.mark.parametrize("name", KERNELS)
def test_into_a_file(name, tmp_path, seed):
    X = draw(seed, 130, 20, 0.1, np.float32)
    file = np.lib.format.open_memmap(
        tmp_path / "K.npy", mode="w+", dtype=np.float32, shape=(130, 130)
    )
    assert KERNELS[name](X, out=file, n_jobs=2) is file
    file.flush()
    np.testing.assert_array_equal(np.load(tmp_path / "K.npy"), KERNELS[name](X))


def test_into_an_array(seed):
    X = draw(seed, 30, 20, 0.1, np.float32)
    out = np.full((60, 60), np.nan)
    assert chi2_kernel(X, out=out[::2, ::2]) is not None
    np.testing.assert_array_equal(out[::2, ::2], chi2_kernel(X, dtype=np.float64))
    assert np.isnan(out[1::2]).all()


def test_streaming_holds_one_chunk_at_a_time():
    """What is held beside the input does not grow with the number of rows."""
    X = draw(0, 4000, 10, 0.1, np.float32)
    pairs, _, _ = _prepare("kernel_blocks", "chi2", X, None, None, None, is_half=False)
    assert pairs.sums(0, pairs.chunk_rows()).nbytes <= 2**21
    first = next(kernel_blocks(X, block_rows=16))[1]
    assert first.shape == (16, 4000)


def test_checks_come_before_the_first_block():
    X = np.ones((2, 3))
    with pytest.raises(ValueError, match="kernel of kernel_blocks must be one of 'chi2', "):
        kernel_blocks(X, kernel="cosine")
    with pytest.raises(ValueError, match="block_rows of kernel_blocks must be a whole number"):
        kernel_blocks(X, block_rows=0)
    with pytest.raises(ValueError, match=r"gamma of kernel_blocks has no meaning for .* 'chi2'"):
        kernel_blocks(X, gamma=1.0)
    with pytest.raises(ValueError, match="X of kernel_blocks holds -1 at row 0, column 0"):
        kernel_blocks(-X)


def test_a_wrong_place_to_write_is_clear(tmp_path):
    X = np.ones((2, 3))
    with pytest.raises(ValueError, match=r"shape \(2, 2\) of float64; got \(2, 3\) of float64"):
        chi2_kernel(X, out=np.empty((2, 3)))
    with pytest.raises(ValueError, match=r"of float32; got \(2, 2\) of float64"):
        chi2_kernel(X, out=np.empty((2, 2)), dtype=np.float32)
    with pytest.raises(ValueError, match="must be an array of shape"):
        chi2_kernel(X, out=[[0, 0], [0, 0]])
    frozen = np.empty((2, 2))
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="must be writeable"):
        exponential_chi2_kernel(X, out=frozen)
