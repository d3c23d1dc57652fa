"""Section 4: the rules of the statements about SODEN and DeepHit where the survival curves of two groups cross.

Each rule reads one repetition (arrays of curves by group and time, and "meta") and says whether the statement holds in
it, with the numbers. Every repetition is a draw of the data and a fit of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Run = Mapping[str, Any]
EARLY, CROSSING, LATE = 0.5, 1.0, 1.5  # "t small", where the true curves cross, "t large"
WELL = 0.02  # mean error of a survival curve that "agrees well"
HAZARD = 0.2  # the same for a hazard: a tenth of group 0's, which is 2
_THREE = ("true", "soden", "deephit")
NEAR = 0.1  # "approximately at t = 1"


def _errors(run: Run, what: str, model: str, low: float, high: float, relative: bool = False) -> Array:
    """Mean |error| for low < t <= high, per group."""
    inside = (run["times"] > low) & (run["times"] <= high)
    true = run[f"{what}_true"]
    gap = np.abs(run[f"{what}_{model}"] - true) / (true if relative else 1.0)
    return np.asarray(gap[:, inside].mean(axis=1))


def _text(values: Array, form: str = ".4f") -> str:
    return " and ".join(f"{value:{form}}" for value in values)


def censoring(run: Run) -> tuple[bool, str]:
    """Within 0.05 of 0.25."""
    rate = run["meta"]["censoring_rate"]
    return abs(rate - 0.25) <= 0.05, f"{rate:.3f}"


def survival_agrees(run: Run) -> tuple[bool, str]:
    """SODEN's survival curves up to LATE."""
    error = _errors(run, "survival", "soden", -1, LATE)
    return bool(error.max() <= WELL), f"mean errors {_text(error)}"


def crossing(run: Run) -> tuple[bool, str]:
    """Where SODEN's two curves cross."""
    at = run["meta"]["models"]["soden"]["crossing"]
    at = float("nan") if at is None else at
    return bool(abs(at - CROSSING) <= NEAR), "never" if np.isnan(at) else f"t = {at:.3f}"


def hazard_early_and_late(run: Run) -> tuple[bool, str]:
    """SODEN's hazards: near the truth early, further from it late."""
    early, late = (_errors(run, "hazard", "soden", low, high) for low, high in ((0, EARLY), (LATE, 2)))
    return bool(
        early.max() <= HAZARD and (late > early).all()
    ), f"early {_text(early, '.2f')}, late {_text(late, '.2f')}"


def relative_error_grows(run: Run) -> tuple[bool, str]:
    """|S - truth| / truth of SODEN, early and late."""
    early, late = (_errors(run, "survival", "soden", low, high, True) for low, high in ((-1, EARLY), (LATE, 2)))
    return bool((late > early).all()), f"early {_text(early, '.1%')}, late {_text(late, '.1%')}"


def steps(run: Run) -> tuple[bool, str]:
    """DeepHit's hazard takes no more values than it has intervals."""
    intervals = run["meta"]["models"]["deephit"]["hyper"]["intervals"]
    levels = max(len(np.unique(np.round(row, 9))) for row in run["hazard_deephit"])
    return levels <= intervals + 1, f"{levels} different values, {intervals} intervals"


def deephit_survival(run: Run) -> tuple[bool, str]:
    """DeepHit's survival: near the truth early; its gap between the groups late is further off than SODEN's."""
    early, late = _errors(run, "survival", "deephit", -1, EARLY), run["times"] > LATE
    true, soden, hit = (float((c[0] - c[1])[late].mean()) for c in (run[f"survival_{m}"] for m in _THREE))
    text = f"early {_text(early)}; gap between the groups late {hit:.4f} (truth {true:.4f}, SODEN {soden:.4f})"
    return bool(early.max() <= WELL and hit < min(soden, true)), text


def deephit_hazard(run: Run) -> tuple[bool, str]:
    """DeepHit's hazard: near the truth early; late it moves up and down more than SODEN's."""
    early, late = _errors(run, "hazard", "deephit", 0, EARLY), run["times"] > LATE
    soden, hit = (
        float(np.abs(np.diff(run[f"hazard_{m}"][:, late], axis=1)).sum(axis=1).mean()) for m in ("soden", "deephit")
    )
    text = f"early {_text(early, '.2f')}; up and down late {hit:.1f}, SODEN's {soden:.1f}"
    return bool(early.max() <= HAZARD and hit > soden), text
