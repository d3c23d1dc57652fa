"""The last state of a one-layer GRU over a series, and its derivative: one call each.

TOGETHER subjects at a time through all steps, so that what one step leaves is still near when the next one needs it. A
step has a matrix of numbers, one column per subject, whose rows are

    r, z, W_hn h + b_hn, n    the gates of torch.nn.GRU, and what r multiplies; on the way back their deltas
    h, 1, x                   the state before the step, a one for the biases, the series

so that three products with neighbouring rows are all there is: [r, z] of [h, 1, x], the third of [h, 1], n of [1, x].
Units are filled up to whole blocks by some without weights, whose state stays 0, subjects by some without a series.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,misc,call-arg"

from __future__ import annotations

import numpy as np

from soden.kernels import kernel, literal_kernel
from soden.kernels.blocks import ACROSS, COLUMNS, ROWS, affine_block
from soden.kernels.loops import LN2_HIGH, LN2_LOW, LOG2E, ROUND, ROUND_BITS, SMALLEST, F, add_outer

TOGETHER = max(1, 32 // COLUMNS) * COLUMNS  # more fill the cache: of 64 units all steps leave a megabyte as it is


@kernel
def whole(n, block):
    """The multiple of `block` that holds n."""
    return (n + block - 1) // block * block


@kernel
def size(n, steps, width, channels):
    """Numbers that n subjects leave behind."""
    _, rows = layout(width, channels)
    # The last step's matrix is also looked at from one of its rows on, as if it went on below.
    return whole(n, TOGETHER) * steps * rows + TOGETHER * rows


@kernel
def layout(width, channels):
    """Units, and rows of a step: an odd number, since at a stride of 2^k bytes steps share a few lines of the cache."""
    units = whole(width, ROWS)
    return units, (5 * units + 1 + channels + ACROSS - 1) | 1


@kernel
def pile(space, start, first, steps, rows):
    """The matrices of all steps of the subjects from `start` on, seen from their row `first` on: (steps, rows, n)."""
    at = start * steps * rows + first * TOGETHER
    return space[at : at + steps * rows * TOGETHER].reshape((steps, rows, TOGETHER))


@kernel
def matrices(units, channels):
    """Zeros for the weights of the three products, or their gradients, in whole blocks."""
    both, of_h, of_x = whole(units + 1 + channels, ACROSS), whole(units + 1, ACROSS), whole(1 + channels, ACROSS)
    return np.zeros((2 * units, both), F), np.zeros((units, of_h), F), np.zeros((units, of_x), F)


@kernel
def packed(W_x, W_h, b_x, b_h):
    """The weights of the three products, from torch's matrices (3 width, channels), (3 width, width) and biases."""
    channels, width = W_x.shape[1], W_h.shape[1]
    units, _ = layout(width, channels)
    rz, hn, xn = matrices(units, channels)
    for j in range(width):
        for gate in range(2):
            row, k = rz[gate * units + j], gate * width + j
            row[:width] = W_h[k]
            row[units] = b_x[k] + b_h[k]
            row[units + 1 : units + 1 + channels] = W_x[k]
        k = 2 * width + j
        hn[j, :width] = W_h[k]
        hn[j, units] = b_h[k]
        xn[j, 0] = b_x[k]
        xn[j, 1 : 1 + channels] = W_x[k]
    return rz, hn, xn


@kernel
def unpacked(rz, hn, xn, width, channels):
    """The way back: gradients of torch's matrices and biases."""
    units = len(hn)
    g_x, g_h, g_b = np.empty((3 * width, channels), F), np.empty((3 * width, width), F), np.empty((2, 3 * width), F)
    for j in range(width):
        for gate in range(2):
            row, k = rz[gate * units + j], gate * width + j
            g_h[k] = row[:width]
            g_b[:, k] = row[units]
            g_x[k] = row[units + 1 : units + 1 + channels]
        k = 2 * width + j
        g_h[k] = hn[j, :width]
        g_b[1, k] = hn[j, units]
        g_b[0, k] = xn[j, 0]
        g_x[k] = xn[j, 1 : 1 + channels]
    return g_x, g_h, g_b[0], g_b[1]


@kernel
def product(W, a, zero, y):
    """y = W a for rows in whole blocks; `loops.affine` would first look for what the blocks leave over, and pack a."""
    for j in range(0, len(W), ROWS):
        for i in range(0, TOGETHER, COLUMNS):
            affine_block(W, a, zero, y, j, i, i)


@literal_kernel  # x + ROUND - ROUND is meant as it stands
def exponential(x):
    """exp(x) for x <= 0 as 2^k and p in 2^k (1 + p), both to the last place; a nan stays one."""
    x = SMALLEST if x < SMALLEST else x
    rounded = F(x * LOG2E + ROUND)
    k = rounded - ROUND
    power = np.int32((rounded.view(np.int32) - ROUND_BITS + np.int32(127)) << np.int32(23)).view(np.float32)
    r = x - k * LN2_HIGH - k * LN2_LOW
    p = F(1 / 5040) * r + F(1 / 720)
    p = p * r + F(1 / 120)
    p = p * r + F(1 / 24)
    p = p * r + F(1 / 6)
    p = p * r + F(1 / 2)
    p = p * r + F(1)
    return power, p * r


@literal_kernel
def sigmoid(x):
    """1 / (1 + exp(-x)) within three units in the last place, with e = exp(-|x|)."""
    power, p = exponential(-abs(x))
    e = power + power * p
    return (F(1) if x >= F(0) else e) / (F(1) + e)


@literal_kernel
def tanh(x):
    """Within three units in the last place, near 0 as well: e = exp(-2 |x|) - 1, and tanh |x| = -e / (2 + e)."""
    power, p = exponential(F(-2) * abs(x))
    e = power * p + (power - F(1))
    y = e / (F(2) + e)
    return y if x < F(0) else -y


@kernel
def cell(gates, before, after):
    """h' = n + z (h - n), n = tanh(n + r (W_hn h + b_hn)); the gates come as their products and stay as values."""
    cells = before.size
    flat, h, new = gates.reshape(4 * cells), before.reshape(cells), after.reshape(cells)
    rz, z, hn, n = flat[: 2 * cells], flat[cells : 2 * cells], flat[2 * cells : 3 * cells], flat[3 * cells :]
    for i in range(2 * cells):
        rz[i] = sigmoid(rz[i])
    for i in range(cells):
        n[i] = tanh(n[i] + rz[i] * hn[i])
    for i in range(cells):
        new[i] = n[i] + z[i] * (h[i] - n[i])


@kernel
def cell_back(gates, before, g, more):
    """From g + more = d loss / d h': the gates become d loss / d (their products), g what reaches h without them."""
    cells = before.size
    flat, h, d, e = gates.reshape(4 * cells), before.reshape(cells), g.reshape(cells), more.reshape(cells)
    r, z, hn, n = flat[:cells], flat[cells : 2 * cells], flat[2 * cells : 3 * cells], flat[3 * cells :]
    for i in range(cells):
        d[i] += e[i]
    for i in range(cells):
        through = d[i] * z[i]
        new = d[i] - through
        d[i] = through
        z[i] = new * z[i] * (h[i] - n[i])
        n[i] = new * (F(1) - n[i] * n[i])
    for i in range(cells):
        of_hn = n[i] * r[i]
        r[i] = hn[i] * (of_hn - of_hn * r[i])
        hn[i] = of_hn


@kernel
def fill(steps, seq, units):
    """Some subjects' series (m, steps, channels) into the rows of x; the ones; h = 0 before the first step."""
    m, _, channels = seq.shape
    steps[0, 4 * units : 5 * units] = F(0)
    for s in range(len(steps)):
        steps[s, 5 * units] = F(1)
        steps[s, 5 * units + 1 + channels :] = F(0)
        for k in range(channels):
            row = steps[s, 5 * units + 1 + k]
            for i in range(m):
                row[i] = seq[i, s, k]
            for i in range(m, TOGETHER):
                row[i] = F(0)


@kernel
def forward(seq, W_x, W_h, b_x, b_h, space, keep):
    """The last states (n, width) of seq (n, steps, channels).

    `space` holds `size` numbers: of all subjects where the way back is to come, else of those treated together.
    """
    n, steps, channels = seq.shape
    width = W_h.shape[1]
    units, rows = layout(width, channels)
    rz, hn, xn = packed(W_x, W_h, b_x, b_h)
    zero, last, h = np.zeros(2 * units, F), np.empty((n, width), F), np.empty((units, TOGETHER), F)
    for start in range(0, n, TOGETHER):
        some = seq[start : start + TOGETHER]
        mine = pile(space, start if keep else 0, 0, steps, rows)
        fill(mine, some, units)
        for s in range(steps):
            now = mine[s]
            product(rz, now[4 * units :], zero, now[: 2 * units])
            product(hn, now[4 * units :], zero, now[2 * units : 3 * units])
            product(xn, now[5 * units :], zero, now[3 * units : 4 * units])
            after = mine[s + 1, 4 * units : 5 * units] if s + 1 < steps else h
            cell(now[: 4 * units], now[4 * units : 5 * units], after)
        for i in range(len(some)):
            for j in range(width):
                last[start + i, j] = h[j, i]
    return last


@kernel
def backward(g_last, W_h, steps, channels, space):
    """The derivative by the four parameters, from that by the last states; what `forward` left is used up."""
    n, width = g_last.shape
    units, rows = layout(width, channels)
    back, zero = np.zeros((units, 3 * units), F), np.zeros(units, F)
    for gate in range(3):
        back[:width, gate * units : gate * units + width] = W_h[gate * width : (gate + 1) * width].T
    rz, hn, xn = matrices(units, channels)
    g, more = np.empty((units, TOGETHER), F), np.empty((units, TOGETHER), F)
    for start in range(0, n, TOGETHER):
        g[:] = F(0)
        more[:] = F(0)
        for i in range(min(TOGETHER, n - start)):
            for j in range(width):
                g[j, i] = g_last[start + i, j]
        mine = pile(space, start, 0, steps, rows)
        for s in range(steps - 1, -1, -1):
            cell_back(mine[s, : 4 * units], mine[s, 4 * units : 5 * units], g, more)
            if s > 0:
                product(back, mine[s, : 3 * units], zero, more)
        of_h, of_x = pile(space, start, 4 * units, steps, rows), pile(space, start, 5 * units, steps, rows)
        add_outer(mine, of_h, rz)
        add_outer(pile(space, start, 2 * units, steps, rows), of_h, hn)
        add_outer(pile(space, start, 3 * units, steps, rows), of_x, xn)
    return unpacked(rz, hn, xn, width, channels)
