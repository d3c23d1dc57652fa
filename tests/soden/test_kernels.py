"""The compiled loops against numpy in float64, at shapes that blocks and vectors do not divide.

Tolerances: a float32 sum of k terms is off by at most about k times 2^-24 of the sum of their absolute values, whatever
its order; so each element gets k + 2 of these (one for what is added, one for the rounding of the expected value).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from soden.kernels.blocks import ACROSS, COLUMNS, LANES, ROWS
from soden.kernels.loops import NARROW, NEAR, TILE, add_outer, affine, aligned, mask, relu, softplus

Array = npt.NDArray[np.float32]
EPS = 2.0**-24

PART = NEAR // (ROWS + TILE)  # numbers of a row that `add_outer` takes at once

AFFINE = [  # rows, inner, n: one of everything; nothing left over; something left over each way; packed, odd and even
    (1, 1, 1),
    (ROWS, NARROW, COLUMNS),
    (ROWS + 3, NARROW - 1, 2 * COLUMNS + 5),
    (ROWS - 1, 7, COLUMNS),
    (13, 44, COLUMNS - 1),
    (2 * ROWS, NARROW + 1, 3 * COLUMNS),
    (127, 127, 3 * COLUMNS + 1),
]
OUTER = [  # s, rows, inner, n: the same, and sums in several parts, the last a short one, over several tiles
    (1, 1, 1, 1),
    (1, ROWS, ACROSS, LANES),
    (3, ROWS + 1, ACROSS + 1, LANES + 1),
    (25, 2 * ROWS, 2 * TILE + 1, PART // 4),
    (25, 2 * ROWS + 3, TILE, PART // 4 - 1),
    (3, 3, 2, PART),
    (2, 5 * ROWS, 3 * ACROSS, PART + 7),
    (0, ROWS, ACROSS, LANES),
]


def draw(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize(("rows", "inner", "n"), AFFINE)
def test_affine(rows: int, inner: int, n: int) -> None:
    W, a, b, y = draw(rows, inner), draw(inner, n), draw(rows), np.full((rows, n), np.nan, np.float32)
    affine(W, a, b, y)
    wide = W.astype(float), a.astype(float), b.astype(float)[:, None]
    size = np.abs(wide[0]) @ np.abs(wide[1]) + np.abs(wide[2])
    assert (np.abs(y - (wide[0] @ wide[1] + wide[2])) <= (inner + 2) * EPS * size).all()


@pytest.mark.parametrize(("s", "rows", "inner", "n"), OUTER)
def test_add_outer(s: int, rows: int, inner: int, n: int) -> None:
    d, a, g = draw(s, rows, n), draw(s, inner, n), draw(rows, inner)
    expected, size = g.astype(float), np.abs(g).astype(float)
    for d_s, a_s in zip(d.astype(float), a.astype(float), strict=True):
        expected, size = expected + d_s @ a_s.T, size + np.abs(d_s) @ np.abs(a_s).T
    add_outer(d, a, g)
    assert (np.abs(g - expected) <= (s * n + 2) * EPS * size).all()


def test_the_parts_of_a_sum_leave_no_trace() -> None:
    """Zeros before it move a sum across the boundary between two parts, and change no bit of it."""
    rows, inner, n = 2 * ROWS, 2 * ACROSS, 2 * LANES
    d, a = draw(9, rows, n), draw(9, inner, n)
    alone, across = np.zeros((2, rows, inner), np.float32)
    add_outer(d, a, alone)
    zeros = NEAR // (n * (ROWS + inner)) - 4
    assert zeros > 0
    d, a = (np.concatenate([np.zeros((zeros, *part.shape[1:]), np.float32), part]) for part in (d, a))
    add_outer(d, a, across)
    np.testing.assert_array_equal(alone, across)


@pytest.mark.parametrize(("rows", "inner", "n"), AFFINE)
def test_affine_keeps_a_nan_where_it_belongs(rows: int, inner: int, n: int) -> None:
    """In the last column of a it reaches the last column of y alone; in a bias, one row."""
    W, a, b, y = draw(rows, inner), draw(inner, n), draw(rows), np.empty((rows, n), np.float32)
    a[inner // 2, -1] = b[-1] = np.nan
    affine(W, a, b, y)
    expected = np.zeros((rows, n), bool)
    expected[:, -1] = expected[-1] = True
    np.testing.assert_array_equal(np.isnan(y), expected)


@pytest.mark.parametrize(("s", "rows", "inner", "n"), OUTER[:-1])
def test_add_outer_keeps_a_nan_where_it_belongs(s: int, rows: int, inner: int, n: int) -> None:
    d, a, g = draw(s, rows, n), draw(s, inner, n), draw(rows, inner)
    d[0, -1, -1] = a[-1, 0, 0] = np.nan
    add_outer(d, a, g)
    expected = np.zeros((rows, inner), bool)
    expected[-1], expected[:, 0] = True, True
    np.testing.assert_array_equal(np.isnan(g), expected)


def test_softplus_and_its_slope() -> None:
    """log(1 + exp(x)) and 1 / (1 + exp(-x)) to three units in the last place, which is 3 * 2^-23 of the value.

    Below -87 the kernel goes on with exp(-87), the smallest normal float32 but for a factor of 1.4: there, 2e-38.
    """
    x = np.concatenate([np.linspace(-100, 100, 4001), [0.0, -0.0, 1e-30, -1e-30, 1e4]]).astype(np.float32)
    h, slope = soft(x)
    wide = x.astype(float)
    np.testing.assert_allclose(h, np.logaddexp(0, wide), rtol=6 * EPS, atol=2e-38)
    np.testing.assert_allclose(slope, np.exp(-np.logaddexp(0, -wide)), rtol=6 * EPS, atol=2e-38)


def test_nan_and_infinity_go_through_softplus() -> None:
    h, _ = soft(np.array([np.nan, np.inf, 0.0], np.float32))
    np.testing.assert_allclose(h, [np.nan, np.inf, np.log(2)], rtol=6 * EPS)


def soft(x: Array) -> tuple[Array, Array]:
    h, slope = np.empty((2, len(x)), np.float32)
    softplus(x, h, slope, np.empty_like(x), np.empty(len(x), np.int32))
    return h, slope


def test_relu_and_mask_by_hand() -> None:
    y = np.array([[-1.0, 0.0, 2.0, np.nan, -np.inf, np.inf]], np.float32)
    relu(y)
    np.testing.assert_array_equal(y, np.array([[0, 0, 2, np.nan, 0, np.inf]], np.float32))
    d = np.arange(1, 7, dtype=np.float32)[None]
    mask(d, y)
    np.testing.assert_array_equal(d, np.array([[0, 0, 3, 0, 0, 6]], np.float32))


@pytest.mark.parametrize("shape", [(0, 5), (1, 1), (13, 7)])
def test_aligned_begins_where_a_vector_may(shape: tuple[int, int]) -> None:
    space = aligned(*shape)
    assert space.shape == shape
    assert space.flags.c_contiguous
    assert space.ctypes.data % (4 * LANES) == 0


def test_a_block_refuses_what_is_not_contiguous() -> None:
    W = draw(8, 8)
    with pytest.raises(Exception, match="blocks are made of contiguous float32 numbers"):
        affine(W.T, draw(8, 64), draw(8), np.empty((8, 64), np.float32))
