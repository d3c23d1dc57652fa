"""The loops that run over all subjects and times, compiled.

Callers hand over fresh contiguous arrays of one type, so each kernel has one compiled version: processes that fill the
on-disk cache at the same time write the same bytes (numba replaces the files atomically).
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,misc"

from __future__ import annotations

import numpy as np
from numba import njit

LOG_GUARD = 1e-10  # inside the logs of BLL, as in the authors' code
PRODUCT = 25  # factors per log: LOG_GUARD**25 = 1e-250 is still far from underflow


@njit(cache=True)
def count_block(survival, columns, before, upto, event, own, more, equal, censored_more, censored_equal, event_equal):
    """Add the pairs of some subjects j (rows) with all events i (columns, by time) to the counts of the events.

    Event i's S_j(y_i) stands in survival[j, columns[i]]; events before y_j are the first before[j], tied ones follow.
    """
    S = np.empty(len(columns))
    for j in range(survival.shape[0]):
        for i in range(upto[j]):  # gathered first, so that the counting below runs on whole vectors
            S[i] = survival[j, columns[i]]
        for i in range(before[j]):
            more[i] += S[i] > own[i]
            equal[i] += S[i] == own[i]
        for i in range(before[j], upto[j]):
            if event[j]:
                event_equal[i] += S[i] == own[i]
            else:
                censored_more[i] += S[i] > own[i]
                censored_equal[i] += S[i] == own[i]


@njit(cache=True)
def brier_block(survival, columns, first, event_weight, counted, grid_weight, total):
    """Add sum_i of BS's terms at each grid time to `total`; from column first[i] on, t >= y_i."""
    S = np.empty(len(columns))
    for i in range(survival.shape[0]):
        last = len(columns) if event_weight[i] > 0.0 else first[i]
        for k in range(last):
            S[k] = survival[i, columns[k]]
        if counted[i]:
            for k in range(first[i]):
                total[k] += grid_weight[k] * (1.0 - S[k]) ** 2
        for k in range(first[i], last):
            total[k] += event_weight[i] * S[k] ** 2


@njit(cache=True)
def bll_block(survival, columns, first, event_weight, counted, grid_weight, total):
    """Add sum_i of BLL's terms at each grid time to `total`; from column first[i] on, t >= y_i.

    Those still alive at t share the weight 1/G(t): the log of a product of a few costs as much as the log of one.
    """
    S, product = np.empty(len(columns)), np.ones(len(columns))
    for i in range(survival.shape[0]):
        last = len(columns) if event_weight[i] > 0.0 else first[i]
        for k in range(last):
            S[k] = survival[i, columns[k]]
        if counted[i]:
            for k in range(first[i]):
                product[k] *= S[k] + LOG_GUARD
        for k in range(first[i], last):
            total[k] += event_weight[i] * np.log(1.0 - S[k] + LOG_GUARD)
        if i % PRODUCT == PRODUCT - 1 or i == survival.shape[0] - 1:
            for k in range(len(columns)):
                total[k] += grid_weight[k] * np.log(product[k])
                product[k] = 1.0
