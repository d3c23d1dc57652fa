"""What the kernels are made of: matrix products for narrow layers, ReLU, Softplus.

Matrices hold one row per unit and one column per subject, so that the innermost loops run over subjects: always enough
of them to fill vectors, whatever the width.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,misc,call-arg"

from __future__ import annotations

import numpy as np

from soden.kernels import kernel, literal_kernel
from soden.kernels.blocks import ACROSS, COLUMNS, LANES, ROWS, affine_block, outer_block

F = np.float32
NARROW = 32  # up to so many rows of a matrix stay in the cache as they are
# `add_outer` meets a tile of columns with four rows after the other, and takes as much of the sum at once as lets both
# stay in a first-level cache: 28 KB, the smallest has 32. 24 is a whole number of blocks, three or four across.
TILE, NEAR = 24, 7 << 10

LOG2E, LN2_HIGH, LN2_LOW = F(1.4426950408889634), F(0.693145751953125), F(1.4286068203094172e-06)
ROUND = F(1.5 * 2**23)  # adding it rounds a small number to a whole one, whose bits then end in that number
ROUND_BITS = np.int32(0x4B400000)
SMALLEST = F(-87.0)  # exp of it is the smallest normal float32


@literal_kernel  # x + ROUND - ROUND is meant as it stands
def softplus(x, h, slope, rounded, power):
    """h = log(1 + exp(x)) and its derivative, both within three units in the last place; the last two are work space.

    With e = exp(-|x|): h = max(x, 0) + log1p(e), and log1p(e) = 2 atanh(e / (2 + e)), a short series up to 1/3.
    """
    bits, two_to_k = rounded.view(np.int32), power.view(np.float32)
    for i in range(len(x)):
        rounded[i] = max(-abs(x[i]), SMALLEST) * LOG2E + ROUND
    for i in range(len(x)):
        power[i] = (bits[i] - ROUND_BITS + np.int32(127)) << np.int32(23)  # the bits of 2^k
    for i in range(len(x)):
        k = rounded[i] - ROUND
        r = max(-abs(x[i]), SMALLEST) - k * LN2_HIGH - k * LN2_LOW
        p = F(1 / 5040) * r + F(1 / 720)
        p = p * r + F(1 / 120)
        p = p * r + F(1 / 24)
        p = p * r + F(1 / 6)
        p = p * r + F(1 / 2)
        p = p * r + F(1)
        slope[i] = (p * r + F(1)) * two_to_k[i]
    for i in range(len(x)):
        s = slope[i] / (F(2) + slope[i])
        q = s * s
        p = F(2 / 15) * q + F(2 / 13)
        p = p * q + F(2 / 11)
        p = p * q + F(2 / 9)
        p = p * q + F(2 / 7)
        p = p * q + F(2 / 5)
        p = p * q + F(2 / 3)
        p = p * q + F(2)
        h[i] = F(0.5) * (x[i] + abs(x[i])) + p * s  # half the sum is max(x, 0), but keeps a nan
    for i in range(len(x)):
        slope[i] = (F(1) if x[i] >= F(0) else slope[i]) / (F(1) + slope[i])


@kernel
def aligned(rows, columns):
    """An empty matrix that begins where a vector may: one across two lines of the cache is read twice."""
    space = np.empty(rows * columns + LANES, F)
    start = -space.ctypes.data // space.itemsize % LANES
    return space[start : start + rows * columns].reshape((rows, columns))


@kernel
def affine(W, a, b, y):
    """y = W a + b: W (r, k), a (k, n), b (r,), y (r, n)."""
    rows, inner = W.shape
    n = a.shape[1]
    tall, wide = rows - rows % ROWS, n - n % COLUMNS
    if inner > NARROW:  # columns side by side: with a stride of 2^k bytes they would share a few lines of the cache
        packed = aligned(inner, COLUMNS)
        for i in range(0, wide, COLUMNS):
            for k in range(inner):
                ak, to = a[k, i : i + COLUMNS], packed[k]
                for c in range(COLUMNS):
                    to[c] = ak[c]
            for j in range(0, tall, ROWS):
                affine_block(W, packed, b, y, j, i, 0)
    else:
        for j in range(0, tall, ROWS):
            for i in range(0, wide, COLUMNS):
                affine_block(W, a, b, y, j, i, i)
    for j in range(tall if wide == n else 0, rows):  # what the blocks leave over: the last columns, and the last rows
        start = wide if j < tall else 0
        yj, c = y[j, start:], b[j]
        for i in range(n - start):
            yj[i] = c
        for k in range(inner):
            ak, p = a[k, start:], W[j, k]
            for i in range(n - start):
                yj[i] += p * ak[i]


@kernel
def add_outer(d, a, g):
    """g += the sum over s of d[s] a[s]^T: d (s, r, n), a (s, k, n), g (r, k)."""
    rows, inner = g.shape
    n = a.shape[2]
    tall, wide, most = rows - rows % ROWS, inner - inner % ACROSS, n - n % LANES
    sums, some = aligned(tall, TILE * LANES), max(1, NEAR // (max(1, n) * (ROWS + min(TILE, wide))))
    for left in range(0, wide, TILE):
        right = min(wide, left + TILE)
        for first in range(0, len(d), some):
            last = min(len(d), first + some)
            for j in range(0, tall, ROWS):
                for k in range(left, right, ACROSS):
                    outer_block(d, a, g, sums, j, k, k - left, first, last, most)
    for j in range(rows):  # what the blocks leave over: the last subjects, the last columns and rows
        for k in range(wide if most == n and j < tall else 0, inner):
            start, total = most if j < tall and k < wide else 0, F(0)
            for s in range(len(d)):
                dj, ak = d[s, j, start:], a[s, k, start:]
                for i in range(n - start):
                    total += dj[i] * ak[i]
            g[j, k] += total


@kernel
def relu(y):
    """In place; written so that a nan stays one."""
    for j in range(len(y)):
        yj = y[j]
        for i in range(len(yj)):
            yj[i] = F(0) if yj[i] <= F(0) else yj[i]


@kernel
def mask(d, a):
    """d = 0 where the ReLU's output a is 0."""
    for j in range(len(d)):
        dj, aj = d[j], a[j]
        for i in range(len(dj)):
            dj[i] = dj[i] if aj[i] > F(0) else F(0)
