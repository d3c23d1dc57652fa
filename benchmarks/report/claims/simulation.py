"""Section 4: what the paper says about SODEN and DeepHit where two groups' survival curves cross."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from benchmarks.report.claims.check import Check, Claim, Evidence

Array = npt.NDArray[np.float64]
EARLY, CROSSING, LATE = 0.5, 1.0, 1.5  # "t small", where the true curves cross, "t large"
WELL = 0.02  # mean error of a survival curve that "agrees well"
HAZARD = 0.2  # the same for a hazard: a tenth of group 0's, which is 2
NEAR = 0.1  # "approximately at t = 1"
NAME = "simulated"


def _mean(e: Evidence, name: str) -> Array | None:
    """A curve (group, time), averaged over the repetitions as in the figure."""
    runs = e.run.simulations if e.run else ()
    return np.mean([run[name] for run in runs], axis=0) if runs else None


def _times(e: Evidence) -> Array:
    assert e.run is not None
    return np.asarray(e.run.simulations[0]["times"])


def _error(e: Evidence, what: str, model: str, low: float, high: float) -> Array | None:
    """Mean |error| of the averaged curve for low < t <= high, per group."""
    fitted, true = _mean(e, f"{what}_{model}"), _mean(e, f"{what}_true")
    if fitted is None or true is None:
        return None
    inside = (_times(e) > low) & (_times(e) <= high)
    return np.asarray(np.abs(fitted - true)[:, inside].mean(axis=1))


def censoring(e: Evidence) -> Iterator[Check]:
    """Within 0.05 of 0.25."""
    for run in e.run.simulations if e.run else ():
        rate = run["meta"]["censoring_rate"]
        yield Check(NAME, f"repetition {run['meta']['repetition']}", abs(rate - 0.25) <= 0.05, f"{rate:.3f}")


def survival_agrees(e: Evidence) -> Iterator[Check]:
    """SODEN's survival curves up to LATE."""
    error = _error(e, "survival", "soden", -1, LATE)
    for group, value in enumerate(() if error is None else error):
        yield Check(NAME, f"group {group}", value <= WELL, f"mean error {value:.4f}")


def crossing(e: Evidence) -> Iterator[Check]:
    """Where SODEN's two curves cross, by repetition."""
    for run in e.run.simulations if e.run else ():
        at = run["meta"]["models"]["soden"]["crossing"]
        at = float("nan") if at is None else at
        text = "never" if np.isnan(at) else f"t = {at:.3f}"
        yield Check(NAME, f"repetition {run['meta']['repetition']}", bool(abs(at - CROSSING) <= NEAR), text)


def hazard_early_and_late(e: Evidence) -> Iterator[Check]:
    """SODEN's hazards: near the truth early, further from it late."""
    early, late = (_error(e, "hazard", "soden", *span) for span in ((0, EARLY), (LATE, 2)))
    if early is not None and late is not None:
        for group in (0, 1):
            text = f"mean error {early[group]:.2f} for t <= {EARLY}, {late[group]:.2f} for t > {LATE}"
            yield Check(NAME, f"group {group}", bool(early[group] <= HAZARD and late[group] > early[group]), text)


def relative_error_grows(e: Evidence) -> Iterator[Check]:
    """|S - truth| / truth of SODEN, early and late."""
    fitted, true = _mean(e, "survival_soden"), _mean(e, "survival_true")
    if fitted is None or true is None:
        return
    times = _times(e)
    relative = np.abs(fitted - true) / true
    for group in (0, 1):
        early, late = relative[group, times <= EARLY].mean(), relative[group, times > LATE].mean()
        yield Check(
            NAME, f"group {group}", bool(late > early), f"{early:.1%} for t <= {EARLY}, {late:.1%} for t > {LATE}"
        )


def steps(e: Evidence) -> Iterator[Check]:
    """DeepHit's hazard takes no more values than it has intervals."""
    for run in e.run.simulations if e.run else ():
        intervals = run["meta"]["models"]["deephit"]["hyper"]["intervals"]
        levels = max(len(np.unique(np.round(row, 9))) for row in run["hazard_deephit"])
        text = f"{levels} different values at {len(run['times'])} times, {intervals} intervals"
        yield Check(NAME, f"repetition {run['meta']['repetition']}", levels <= intervals + 1, text)


def deephit_survival(e: Evidence) -> Iterator[Check]:
    """DeepHit's survival: near the truth early; its gap between the groups late is further off than SODEN's."""
    early = _error(e, "survival", "deephit", -1, EARLY)
    if early is None:
        return
    yield Check(NAME, f"t <= {EARLY}", bool(early.max() <= WELL), f"mean errors {early[0]:.4f} and {early[1]:.4f}")
    late = _times(e) > LATE
    gaps = {}
    for name in ("true", "deephit", "soden"):
        curve = _mean(e, f"survival_{name}")
        assert curve is not None
        gaps[name] = float((curve[0] - curve[1])[late].mean())
    passed = gaps["deephit"] < min(gaps["soden"], gaps["true"])
    text = f"gap between the groups {gaps['deephit']:.4f} (truth {gaps['true']:.4f}, SODEN {gaps['soden']:.4f})"
    yield Check(NAME, f"t > {LATE}", passed, text)


def deephit_hazard(e: Evidence) -> Iterator[Check]:
    """DeepHit's hazard: near the truth early; late it moves up and down more than SODEN's."""
    early = _error(e, "hazard", "deephit", 0, EARLY)
    if early is None:
        return
    text = f"mean errors {early[0]:.2f} and {early[1]:.2f}"
    yield Check(NAME, f"t <= {EARLY}", bool(early.max() <= HAZARD), text)
    late = _times(e) > LATE
    moves = {}
    for name in ("deephit", "soden"):
        curve = _mean(e, f"hazard_{name}")
        assert curve is not None
        moves[name] = float(np.abs(np.diff(curve[:, late], axis=1)).sum(axis=1).mean())
    text = f"total up and down {moves['deephit']:.1f}, SODEN's {moves['soden']:.1f}"
    yield Check(NAME, f"t > {LATE}", moves["deephit"] > moves["soden"], text)


def _claim(name: str, text: str, rule_text: str, rule: object) -> Claim:
    section = "4.1" if name == "censoring" else "4.2"
    return Claim(name, section, text, rule_text, rule, (NAME,), in_tables=False)  # type: ignore[arg-type]


CLAIMS = (
    _claim(
        "censoring", "Uniform censoring in (0, 2) led to a censoring rate around 25%.", "between 20% and 30%", censoring
    ),
    _claim(
        "survival_agrees",
        "SODEN's survival functions generally agree well with the true ones.",
        f"mean error of the averaged curve for t <= {LATE} at most {WELL}, each group",
        survival_agrees,
    ),
    _claim(
        "crossing",
        "SODEN's survival functions of the two groups cross approximately at t = 1.",
        f"within {NEAR} of 1, each repetition",
        crossing,
    ),
    _claim(
        "hazard_early_and_late",
        "SODEN's hazards agree with the true ones when time is small but deviate as it increases.",
        f"mean error for t <= {EARLY} at most {HAZARD}, and larger for t > {LATE}",
        hazard_early_and_late,
    ),
    _claim(
        "relative_error_grows",
        "Relatively, SODEN's estimate of survival becomes worse for larger t.",
        f"mean relative error for t > {LATE} above that for t <= {EARLY}",
        relative_error_grows,
    ),
    _claim("steps", "DeepHit's hazards are step functions.", "as many values as intervals at most", steps),
    _claim(
        "deephit_survival",
        "DeepHit's survival functions fit well when t is small; the groups are not well separated when t is large.",
        f"mean error for t <= {EARLY} at most {WELL}; gap for t > {LATE} below the truth's and SODEN's",
        deephit_survival,
    ),
    _claim(
        "deephit_hazard",
        "DeepHit's hazards fit well when t is small but fluctuate wildly when t is large.",
        f"mean error for t <= {EARLY} at most {HAZARD}; more up and down than SODEN's for t > {LATE}",
        deephit_hazard,
    ),
)
