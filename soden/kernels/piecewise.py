"""SODEN's curves in float64, for predictions: along one subject's curve a ReLU network is affine from kink to kink.

Every unit is P + Q Lambda + R t until a unit below it changes sign, so between two such kinks the ODE is the smooth
Lambda' = softplus(p + q Lambda + r t), two multiply-adds a stage whatever the network. Dormand and Prince's method is
at home there; each kink is found on the step's own polynomial (Hairer, Norsett and Wanner, II.6) and ends the step.
Each subject is treated on its own: its numbers do not depend on who else is asked for, nor on the times that are.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,misc"

from __future__ import annotations

import math

import numpy as np

from soden.kernels import kernel

RELATIVE, ABSOLUTE = 1e-8, 1e-9  # error of a step in Lambda
FIRST = 0.01  # of tau, the first step; the error control makes more of it
CLOSE = 1e-7  # share of a step to which a kink is found: what it costs Lambda is of the order of the square


@kernel
def curves(x, first, up, bias, times, tau, limit):
    """Lambda and lambda (n, k) of subjects x (n, p) at increasing times (k,), cut at `limit`.

    The MLP on [Lambda, t, x]: `first` (p + 2, width) is its first matrix, up (layers, width, width) leads from each
    layer to the next, the last to the output, in its first column; bias (layers + 1, width). tau is the times' scale.
    """
    (n, p), (layers, width, _) = x.shape, up.shape
    Lambda, lam = np.empty((n, len(times))), np.empty((n, len(times)))
    # Of every layer and of the output: P, Q and R. Of every layer: 1 where the unit is positive.
    units, on, poly = np.zeros((layers + 1, 3, width)), np.zeros((layers, width)), np.empty(4)
    for i in range(n):
        for j in range(width):
            units[0, 0, j], units[0, 1, j], units[0, 2, j] = bias[0, j], first[0, j], first[1, j]
        for k in range(p):
            for j in range(width):
                units[0, 0, j] += first[k + 2, j] * x[i, k]
        for m in range(layers):
            for j in range(width):
                on[m, j] = 1.0 if units[m, 0, j] > 0 else 0.0
            combine(up, bias, m + 1, units, on)
        follow(up, bias, units, on, poly, times, FIRST * tau, limit, Lambda[i], lam[i])
    return Lambda, lam


@kernel
def follow(up, bias, units, on, poly, times, step, limit, Lambda, lam):
    """One curve from 0 on; units, signs and `poly` are its work space."""
    layers, width = on.shape
    t, at, done, stuck, last, shortest = 0.0, 0.0, 0, 0, len(times), 1e-9 * step
    k1 = softplus(units[layers, 0, 0])
    while done < last:
        p, q, r = units[layers, 0, 0], units[layers, 1, 0], units[layers, 2, 0]
        end, slope, error = attempt(p, q, r, t, at, k1, step, poly)
        size = error / (ABSOLUTE + RELATIVE * max(at, end))
        if not size <= 1 and step > shortest:
            step *= max(0.2, 0.9 * size**-0.2) if size < np.inf else 0.2
            continue
        share, m, j = first_kink(units, on, poly, t, at, step, end)
        if m >= 0 and share < 1e-12:  # it is here: several units may meet in one point
            stuck += 1
            if stuck <= 2 * layers * width:
                flip(up, bias, units, on, m, j)
                continue
        stuck = 0
        until = t + share * step
        while done < last and times[done] <= until:
            Lambda[done] = at + inside(poly, (times[done] - t) / step)
            lam[done] = min(softplus(p + q * Lambda[done] + r * times[done]), limit)
            done += 1
        if m >= 0 and share < 1:
            at += inside(poly, share)
            t = until
            flip(up, bias, units, on, m, j)
            k1 = softplus(units[layers, 0, 0] + units[layers, 1, 0] * at + units[layers, 2, 0] * t)
        else:
            t, at, k1 = until, end, slope
            step *= min(5.0, 0.9 * size**-0.2) if size > 0 else 5.0
        if not at < limit:  # S is 0 in any float; also where Lambda is no number any more
            for k in range(done, last):
                Lambda[k], lam[k] = limit, limit
            return


@kernel
def softplus(u):
    """log(1 + exp(u))."""
    return max(u, 0.0) + math.log1p(math.exp(-abs(u)))


@kernel
def attempt(p, q, r, t, at, k1, h, poly):
    """A step of Dormand and Prince: Lambda and lambda at its end, and its error; `poly` is Lambda inside it."""
    u = p + r * t + q * at  # rises by q dLambda + r dt
    k2 = softplus(u + h * (r / 5 + q * k1 / 5))
    k3 = softplus(u + h * (r * 3 / 10 + q * (3 / 40 * k1 + 9 / 40 * k2)))
    k4 = softplus(u + h * (r * 4 / 5 + q * (44 / 45 * k1 - 56 / 15 * k2 + 32 / 9 * k3)))
    sum5 = 19372 / 6561 * k1 - 25360 / 2187 * k2 + 64448 / 6561 * k3 - 212 / 729 * k4
    k5 = softplus(u + h * (r * 8 / 9 + q * sum5))
    sum6 = 9017 / 3168 * k1 - 355 / 33 * k2 + 46732 / 5247 * k3 + 49 / 176 * k4 - 5103 / 18656 * k5
    k6 = softplus(u + h * (r + q * sum6))
    rise = h * (35 / 384 * k1 + 500 / 1113 * k3 + 125 / 192 * k4 - 2187 / 6784 * k5 + 11 / 84 * k6)
    k7 = softplus(u + h * r + q * rise)
    error = 71 / 57600 * k1 - 71 / 16695 * k3 + 71 / 1920 * k4 - 17253 / 339200 * k5 + 22 / 525 * k6 - k7 / 40
    bend = h * k1 - rise
    poly[0], poly[1], poly[2] = rise, bend, rise - h * k7 - bend
    dense = -12715105075 / 11282082432 * k1 + 87487479700 / 32700410799 * k3 - 10690763975 / 1880347072 * k4
    dense += 701980252875 / 199316789632 * k5 - 1453857185 / 822651844 * k6 + 69997945 / 29380423 * k7
    poly[3] = h * dense
    return at + rise, k7, abs(h * error)


@kernel
def inside(poly, s):
    """How far Lambda has risen after a share s of the step."""
    return s * (poly[0] + (1 - s) * (poly[1] + s * (poly[2] + (1 - s) * poly[3])))


@kernel
def first_kink(units, on, poly, t, at, step, end):
    """(share of the step, layer, unit) at the first change of sign; (1, -1, -1) where there is none."""
    layers, width = on.shape
    first, layer, unit, stop = 1.0, -1, -1, t + step
    for m in range(layers):
        changes = 0.0
        for j in range(width):
            u = units[m, 0, j] + units[m, 1, j] * end + units[m, 2, j] * stop
            changes += abs((1.0 if u > 0 else 0.0) - on[m, j])
        if changes == 0:
            continue
        rise, now = end - at, stop
        for j in range(width):
            if layer >= 0:  # those that change after the first so far do not matter
                rise, now = inside(poly, first), t + first * step
            P, Q, R = units[m, 0, j], units[m, 1, j], units[m, 2, j]
            u = P + Q * (at + rise) + R * now
            if (1.0 if u > 0 else 0.0) != on[m, j]:
                share = root(P, Q, R, poly, t, at, step, first, u)
                if share < first or layer < 0:
                    first, layer, unit = share, m, j
    return first, layer, unit


@kernel
def root(P, Q, R, poly, t, at, step, right, high):
    """Where in the step P + Q Lambda + R t passes 0, being `high` at `right`: regula falsi (Illinois); 0 if it has."""
    low, left, side = P + Q * at + R * t, 0.0, 0
    if low == 0 or (low > 0) == (high > 0):
        return 0.0
    s, enough = right, CLOSE * abs(high - low)
    for _ in range(60):
        s = (left * high - right * low) / (high - low)
        u = P + Q * (at + inside(poly, s)) + R * (t + s * step)
        if (u > 0) == (high > 0):
            right, high = s, u
            low = low / 2 if side == 1 else low
            side = 1
        else:
            left, low = s, u
            high = high / 2 if side == -1 else high
            side = -1
        if abs(u) < enough:
            break
    return s


@kernel
def flip(up, bias, units, on, m, j):
    """Unit j of layer m changes sign: the layer above moves by what it sends there, the others are made anew."""
    change, (layers, width, _) = 1 - 2 * on[m, j], up.shape
    on[m, j] += change
    p, q, r = change * units[m, 0, j], change * units[m, 1, j], change * units[m, 2, j]
    for k in range(width):
        units[m + 1, 0, k] += p * up[m, j, k]
        units[m + 1, 1, k] += q * up[m, j, k]
        units[m + 1, 2, k] += r * up[m, j, k]
    for above in range(m + 2, layers + 1):
        combine(up, bias, above, units, on)


@kernel
def combine(up, bias, m, units, on):
    """The functions of layer m, or of the output, the last one, from those of the layer below and its signs."""
    layers, width, _ = up.shape
    if m == layers:
        p, q, r = bias[m, 0], 0.0, 0.0
        for j in range(width):
            w = on[m - 1, j] * up[m - 1, j, 0]
            p += w * units[m - 1, 0, j]
            q += w * units[m - 1, 1, j]
            r += w * units[m - 1, 2, j]
        units[m, 0, 0], units[m, 1, 0], units[m, 2, 0] = p, q, r
        return
    for k in range(width):
        units[m, 0, k], units[m, 1, k], units[m, 2, k] = bias[m, k], 0.0, 0.0
    for j in range(width):
        if on[m - 1, j] > 0:
            p, q, r = units[m - 1, 0, j], units[m - 1, 1, j], units[m - 1, 2, j]
            for k in range(width):
                units[m, 0, k] += p * up[m - 1, j, k]
                units[m, 1, k] += q * up[m - 1, j, k]
                units[m, 2, k] += r * up[m - 1, j, k]
