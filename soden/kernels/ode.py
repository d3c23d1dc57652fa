"""The fast solve of SODEN (`soden.ode`), and its likelihood with the exact derivative: one call each.

x (p, n) holds the features, `v` the weights of the MLP on [Lambda, t, x] as in `soden.kernels.mlp`: the first two
columns of its first matrix are those of Lambda and t. N steps have K = 4N + 1 stages.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,misc"

from __future__ import annotations

import numpy as np

from soden.kernels import kernel
from soden.kernels.loops import F, add_outer, affine, mask, relu, softplus
from soden.kernels.mlp import add_sums, hidden, output

CACHE = 1 << 21  # numbers that subjects treated together may leave behind at all stages: what a cache can hold


@kernel
def solve(x, v, width, layers, t, dt, limit, space):
    """RK4 of Lambda' = h(Lambda, t; x) on t (K, n) and dt (N, n): Lambda and h at all stages (K, n), cut at `limit`.

    `space` holds 3 K n + layers * width * n numbers; Lambda and h are in it.
    """
    stages, n = t.shape
    one, shape = stages * n, (stages, n)
    at, h, slope = (
        space[:one].reshape(shape),
        space[one : 2 * one].reshape(shape),
        space[2 * one : 3 * one].reshape(shape),
    )
    acts = space[3 * one : 3 * one + layers * width * n].reshape((layers, 1, width, n))
    rk4(x, v, t, dt, limit, acts, at, h, slope)
    return at, h


@kernel
def together(n, width, layers, steps):
    """Subjects treated together, so that what they leave at all stages is not far when they come back."""
    return min(n, 256, max(64, 32 * (CACHE // (64 * layers * (4 * steps + 1) * width))))


@kernel
def nll(x, v, width, layers, y, log_end, tau, steps, event, weight, floor, space):
    """The sum of weight (Lambda(y) - event log max(lambda(y), floor)), and its exact derivative by x and v.

    Some subjects at a time, there and back; `space` holds 2 K layers * width numbers for each of them.
    """
    n, stages = len(y), 4 * steps + 1
    cells, size = layers * stages * width, together(n, width, layers, steps)
    kept, back = space[: cells * size], space[cells * size : 2 * cells * size]
    total, g_x, g = 0.0, np.empty_like(x), np.zeros_like(v)
    for start in range(0, n, size):
        stop = min(n, start + size)
        m = stop - start
        acts = kept[: cells * m].reshape((layers, stages, width, m))
        delta = back[: cells * m].reshape((layers, stages, width, m))
        some, g_some = x[:, start:stop].copy(), np.empty((len(x), m), F)
        t, dt = mesh(y[start:stop], log_end[start:stop], tau, steps)
        at, h, slope = np.empty((stages, m), F), np.empty((stages, m), F), np.empty((stages, m), F)
        rk4(some, v, t, dt, F(np.inf), acts, at, h, slope)
        g_Lambda, g_lambda = np.empty(m, F), np.empty(m, F)
        for i in range(m):
            lam, w, died = h[stages - 1, i], weight[start + i], event[start + i]
            total += w * (at[stages - 1, i] - died * np.log(floor if lam < floor else lam))
            g_Lambda[i] = w
            g_lambda[i] = F(0) if lam < floor else -w * died / lam
        J = unit_deltas(acts, delta, v, len(x) + 2, slope)
        e = cotangents(J, dt, g_Lambda, g_lambda)
        add_gradients(some, v, acts, delta, e, slope, at, t, g_some, g)
        g_x[:, start:stop] = g_some
    return total, g_x, g


@kernel
def mesh(y, log_end, tau, steps):
    """RK4's stages t (K, n) and step lengths (N, n) on `soden.ode.clock`; log_end = log1p(y / tau)."""
    n = len(y)
    growth, scaled = np.empty(n, F), np.zeros(n, F)
    for i in range(n):  # expm1 of one step: a series at an eighth of it, then expm1(2u) = e (e + 2) three times
        u = F(0.125 / steps) * log_end[i]
        e = F(1 / 5040) * u + F(1 / 720)
        e = e * u + F(1 / 120)
        e = e * u + F(1 / 24)
        e = e * u + F(1 / 6)
        e = e * u + F(1 / 2)
        e = (e * u + F(1)) * u
        e = e * (e + F(2))
        e = e * (e + F(2))
        growth[i] = e * (e + F(2))
    t, dt = np.zeros((4 * steps + 1, n), F), np.empty((steps, n), F)
    t[4 * steps] = y
    for q in range(1, steps):
        start = t[4 * q]
        for i in range(n):
            scaled[i] += growth[i] * (F(1) + scaled[i])  # expm1 of the clock so far
            start[i] = tau * scaled[i]
    for q in range(steps):
        start, end, middle, length = t[4 * q], t[4 * q + 4], t[4 * q + 1], dt[q]
        for i in range(n):
            middle[i] = F(0.5) * (start[i] + end[i])
        for i in range(n):
            length[i] = end[i] - start[i]
        t[4 * q + 2] = middle
        t[4 * q + 3] = end
    return t, dt


@kernel
def rk4(x, v, t, dt, limit, acts, at, h, slope):
    """Fill `at` and `h`, Lambda and h at all stages, the slope of Softplus there, and the activations.

    `acts` (layers, slots, width, n) keeps those of all stages, or of the last one if it has a single slot.
    """
    layers, slots, width, n = acts.shape
    inputs = len(x) + 2
    W_in, b_in, _, _ = hidden(v, 0, inputs, width, False)
    W_out, b_out = output(v, inputs, width, layers, False)
    z = np.empty((width, n), F)  # what the first layer makes of x: the same at every stage
    affine(W_in[:, 2:].copy(), x, b_in, z)
    Lambda, total, out = np.zeros(n, F), np.zeros(n, F), np.empty(n, F)
    rounded, power = np.empty(n, F), np.empty(n, np.int32)
    at[0] = F(0)
    for k in range(len(t)):
        slot, atk, tk, hk = k % slots, at[k], t[k], h[k]
        first = acts[0, slot]
        for j in range(width):
            zj, fj, wL, wt = z[j], first[j], W_in[j, 0], W_in[j, 1]
            for i in range(n):
                u = zj[i] + wL * atk[i] + wt * tk[i]
                fj[i] = F(0) if u <= F(0) else u
        for m in range(layers - 1):
            W, b, _, _ = hidden(v, m + 1, inputs, width, False)
            affine(W, acts[m, slot], b, acts[m + 1, slot])
            relu(acts[m + 1, slot])
        last = acts[layers - 1, slot]
        for i in range(n):
            out[i] = b_out[0]
        for j in range(width):
            lj, c = last[j], W_out[0, j]
            for i in range(n):
                out[i] += c * lj[i]
        softplus(out, hk, slope[k], rounded, power)
        for i in range(n):
            hk[i] = limit if hk[i] > limit else hk[i]
        if k == len(t) - 1:
            break
        r, step, after = k % 4, dt[k // 4], at[k + 1]
        if r == 0:
            for i in range(n):
                total[i] = hk[i]
        elif r < 3:
            for i in range(n):
                total[i] += F(2) * hk[i]
        if r < 2:
            for i in range(n):
                after[i] = Lambda[i] + F(0.5) * step[i] * hk[i]
        elif r == 2:
            for i in range(n):
                after[i] = Lambda[i] + step[i] * hk[i]
        else:
            for i in range(n):
                Lambda[i] += F(1 / 6) * step[i] * (total[i] + hk[i])
                after[i] = Lambda[i]
        for i in range(n):
            after[i] = limit if after[i] > limit else after[i]


@kernel
def unit_deltas(acts, delta, v, inputs, slope):
    """d(output before Softplus) / d(input of each ReLU) into `delta`; returns J = dh/dLambda, (K, n).

    With unit seeds all stages are back-propagated on their own; `cotangents` turns J into the weight of each.
    """
    layers, stages, width, n = acts.shape
    J, zero = np.zeros((stages, n), F), np.zeros(width, F)
    W_in, _, _, _ = hidden(v, 0, inputs, width, False)
    W_out, _ = output(v, inputs, width, layers, False)
    W_T = np.empty((layers, width, width), F)
    for m in range(1, layers):
        W, _, _, _ = hidden(v, m, inputs, width, False)
        W_T[m] = W.T
    for k in range(stages):
        for j in range(width):
            dj, aj, c = delta[layers - 1, k, j], acts[layers - 1, k, j], W_out[0, j]
            for i in range(n):
                dj[i] = c if aj[i] > F(0) else F(0)
        for m in range(layers - 2, -1, -1):
            affine(W_T[m + 1], delta[m + 1, k], zero, delta[m, k])
            mask(delta[m, k], acts[m, k])
        Jk, sk = J[k], slope[k]
        for j in range(width):
            dj, c = delta[0, k, j], W_in[j, 0]
            for i in range(n):
                Jk[i] += c * dj[i]
        for i in range(n):
            Jk[i] *= sk[i]
    return J


@kernel
def cotangents(J, dt, g_Lambda, g_lambda):
    """d loss / d h at every stage, (K, n), from the last step to the first: see `soden.ode.stage_cotangents`."""
    stages, n = J.shape
    e, after, gain = np.empty((stages, n), F), np.empty(n, F), np.empty(n, F)
    for i in range(n):
        e[stages - 1, i] = g_lambda[i]
        after[i] = g_Lambda[i] + g_lambda[i] * J[stages - 1, i]
    for q in range(len(dt) - 1, -1, -1):
        J1, J2, J3, J4, d = J[4 * q], J[4 * q + 1], J[4 * q + 2], J[4 * q + 3], dt[q]
        e1, e2, e3, e4 = e[4 * q], e[4 * q + 1], e[4 * q + 2], e[4 * q + 3]
        for i in range(n):
            e4[i] = F(1 / 6) * d[i]
            e3[i] = F(1 / 3) * d[i] + d[i] * e4[i] * J4[i]
        for i in range(n):
            e2[i] = F(1 / 3) * d[i] + F(0.5) * d[i] * e3[i] * J3[i]
            e1[i] = F(1 / 6) * d[i] + F(0.5) * d[i] * e2[i] * J2[i]
        for i in range(n):
            gain[i] = F(1) + e1[i] * J1[i] + e2[i] * J2[i] + e3[i] * J3[i] + e4[i] * J4[i]
        for ek in (e1, e2, e3, e4):
            for i in range(n):
                ek[i] *= after[i]
        for i in range(n):
            after[i] *= gain[i]
    return e


@kernel
def add_gradients(x, v, acts, delta, e, slope, at, t, g_x, g):
    """Add what all stages give to the gradient g by v, weighted by e = d loss / d h; g_x is filled in."""
    layers, stages, width, n = acts.shape
    inputs = len(x) + 2
    W_in, _, _, _ = hidden(v, 0, inputs, width, False)
    g_W_in, g_b_in, _, _ = hidden(g, 0, inputs, width, False)
    g_W_out, g_b_out = output(g, inputs, width, layers, False)
    g_z = np.zeros((width, n), F)
    for k in range(stages):
        ek, sk, atk, tk, s = e[k], slope[k], at[k], t[k], F(0)
        for i in range(n):
            ek[i] *= sk[i]
        for i in range(n):
            s += ek[i]
        g_b_out[0] += s
        for j in range(width):
            dj, gj, aj = delta[0, k, j], g_z[j], acts[layers - 1, k, j]
            a, c, s = F(0), F(0), F(0)
            for i in range(n):
                u = dj[i] * ek[i]
                gj[i] += u
                a += u * atk[i]
                c += u * tk[i]
                s += aj[i] * ek[i]
            g_W_in[j, 0] += a
            g_W_in[j, 1] += c
            g_W_out[0, j] += s
        for m in range(1, layers):
            _, g_b, _, _ = hidden(g, m, inputs, width, False)
            for j in range(width):
                dj, s = delta[m, k, j], F(0)
                for i in range(n):
                    dj[i] *= ek[i]
                    s += dj[i]
                g_b[j] += s
    for m in range(1, layers):
        g_W, _, _, _ = hidden(g, m, inputs, width, False)
        add_outer(delta[m], acts[m - 1], g_W)
    add_sums(g_z, g_b_in)
    of_x = np.zeros((width, len(x)), F)
    add_outer(g_z.reshape((1, width, n)), x.reshape((1, len(x), n)), of_x)
    g_W_in[:, 2:] += of_x
    affine(W_in[:, 2:].T.copy(), g_z, np.zeros(len(x), F), g_x)
