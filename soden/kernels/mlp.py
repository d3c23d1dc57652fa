"""A pass of `soden.nets.MLP` and its derivative: one call each.

`v` holds all of an MLP's weights in the order of its parameters: of each hidden layer the matrix, the bias and, with
batch norm, scale and shift; then matrix and bias of the output.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,misc"

from __future__ import annotations

import numpy as np

from soden.kernels import kernel
from soden.kernels.loops import F, add_outer, affine, relu


@kernel
def hidden(v, m, inputs, width, norm):
    """Matrix, bias, scale and shift of hidden layer m, as views; the last two are empty without batch norm."""
    vectors = 3 if norm else 1
    start = 0 if m == 0 else (inputs + vectors) * width + (m - 1) * (width + vectors) * width
    columns = inputs if m == 0 else width
    end = start + columns * width
    W, b = v[start:end].reshape((width, columns)), v[end : end + width]
    more = width if norm else 0
    return W, b, v[end + width : end + width + more], v[end + width + more : end + width + 2 * more]


@kernel
def output(v, inputs, width, layers, norm):
    """Matrix (outputs, width) and bias of the output, as views."""
    vectors = 3 if norm else 1
    start = (inputs + vectors) * width + (layers - 1) * (width + vectors) * width
    outputs = (len(v) - start) // (width + 1)
    end = start + outputs * width
    return v[start:end].reshape((outputs, width)), v[end:]


@kernel
def parts(space, layers, width, n):
    """What a pass leaves behind, (layers, width, n) each, within `space`.

    The ReLU's outputs, which batch norm overwrites by the normalised values; what the next layer sees; 1 where a unit
    was alive, else 0.
    """
    size = layers * width * n
    shape = (layers, width, n)
    return space[:size].reshape(shape), space[size : 2 * size].reshape(shape), space[2 * size : 3 * size].reshape(shape)


@kernel
def forward(x, v, width, layers, norm, masks, space):
    """Outputs (n, m) of a training batch x (p, n), and batch norm's mean, variance and 1 / sd (3, layers, width).

    masks (layers, width, n) are what dropout multiplies by, or empty; `space` is for `parts`.
    """
    inputs, n = x.shape
    rect, outs, alive = parts(space, layers, width, n)
    stats = np.zeros((3, layers, width), F)
    for m in range(layers):
        W, b, scale, shift = hidden(v, m, inputs, width, norm)
        affine(W, x if m == 0 else outs[m - 1], b, rect[m])
        relu(rect[m])
        for j in range(width):
            r, o, a = rect[m, j], outs[m, j], alive[m, j]
            for i in range(n):
                a[i] = F(1) if r[i] > F(0) else F(0)
            if norm:
                normalise(r, stats[:, m, j])
                c, s = scale[j], shift[j]
                for i in range(n):
                    o[i] = c * r[i] + s
            else:
                for i in range(n):
                    o[i] = r[i]
            if len(masks):
                k = masks[m, j]
                for i in range(n):
                    o[i] *= k[i]
    W, b = output(v, inputs, width, layers, norm)
    out = np.empty((len(b), n), F)
    affine(W, outs[layers - 1], b, out)
    return out.T.copy(), stats


@kernel
def normalise(r, stats):
    """r to mean 0 and variance 1, in place, as batch norm does it (1e-5 added to the variance); stats are filled in."""
    n = len(r)
    mean, variance = F(0), F(0)
    for i in range(n):
        mean += r[i]
    mean /= n
    for i in range(n):
        variance += (r[i] - mean) * (r[i] - mean)
    variance /= n
    inverse = F(1) / np.sqrt(variance + F(1e-5))
    for i in range(n):
        r[i] = (r[i] - mean) * inverse
    stats[0], stats[1], stats[2] = mean, variance, inverse


@kernel
def backward(g_out, x, v, width, layers, norm, masks, stats, space):
    """The derivative of `forward` by x (p, n) and by v."""
    inputs, n = x.shape
    rect, outs, alive = parts(space, layers, width, n)
    g = np.zeros_like(v)
    zero, d, g_x = np.zeros(max(width, inputs), F), np.empty((width, n), F), np.empty_like(x)
    W, _ = output(v, inputs, width, layers, norm)
    g_W, g_b = output(g, inputs, width, layers, norm)
    above = g_out.T.copy()
    add_outer(above.reshape((1, *above.shape)), outs[layers - 1 :], g_W)
    add_sums(above, g_b)
    affine(W.T.copy(), above, zero, d)
    for m in range(layers - 1, -1, -1):
        W, _, scale, _ = hidden(v, m, inputs, width, norm)
        g_W, g_b, g_scale, g_shift = hidden(g, m, inputs, width, norm)
        for j in range(width):
            dj, r, a = d[j], rect[m, j], alive[m, j]
            if len(masks):
                k = masks[m, j]
                for i in range(n):
                    dj[i] *= k[i]
            if norm:
                s, c = F(0), F(0)
                for i in range(n):
                    s += dj[i]
                    c += dj[i] * r[i]
                g_scale[j], g_shift[j] = c, s
                factor, mean, slope = scale[j] * stats[2, m, j], s / n, c / n
                for i in range(n):
                    dj[i] = factor * (dj[i] - mean - slope * r[i])
            for i in range(n):
                dj[i] *= a[i]
        seen = x.reshape((1, inputs, n)) if m == 0 else outs[m - 1 : m]
        add_outer(d.reshape((1, width, n)), seen, g_W)
        add_sums(d, g_b)
        below = g_x if m == 0 else np.empty((width, n), F)
        affine(W.T.copy(), d, zero, below)
        d = below
    return g_x, g


@kernel
def add_sums(d, g):
    """g += the sum of each row of d."""
    for j in range(len(d)):
        dj, s = d[j], F(0)
        for i in range(len(dj)):
            s += dj[i]
        g[j] += s


@kernel
def apply(u, v, inputs, width, layers, norm, factors, shifts):
    """The trained network from its first layer's output u (width, n), which is overwritten: outputs (m, n).

    factors and shifts (layers, width) are what batch norm has come to, or empty.
    """
    for m in range(layers):
        relu(u)
        if len(factors):
            for j in range(width):
                uj, c, s = u[j], factors[m, j], shifts[m, j]
                for i in range(len(uj)):
                    uj[i] = c * uj[i] + s
        if m < layers - 1:
            W, b, _, _ = hidden(v, m + 1, inputs, width, norm)
            above = np.empty_like(u)
            affine(W, u, b, above)
            u = above
    W, b = output(v, inputs, width, layers, norm)
    out = np.empty((len(b), u.shape[1]), F)
    affine(W, u, b, out)
    return out
