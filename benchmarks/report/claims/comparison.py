"""Section 5.5.1 and what the other sections say about the data: SODEN among its competitors."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from benchmarks.report.claims.check import ALMOST_ALL, MOST, PAPER_DATASETS, Check, Claim, Evidence, significant
from benchmarks.results.names import DATASETS, MODELS
from benchmarks.results.tidy import TRUNCATIONS

CONTINUOUS = ("cox", "deepsurv", "cox_time")
NEURAL = ("deepsurv", "cox_time", "nnet_survival", "deephit", "soden")
DISCRETE = ("nnet_survival", "deephit")
LARGE, SMALL = ("mimic_seq", "mimic"), ("support", "metabric")
MAIN = ("cox", "deepsurv", "cox_time", "nnet_survival", "deephit", "soden")
SPREAD = 0.01  # IBS of models that are "similarly well calibrated"
SAME = 0.002  # C at two truncations that are "close"


def _name(dataset: str, g_tau: str, model: str = "") -> str:
    return f"{DATASETS[dataset]} {g_tau}" + (f" vs {MODELS[model]}" if model else "")


def beats_continuous(e: Evidence) -> Iterator[Check]:
    """C of SODEN above that of each continuous-time model."""
    for d, g, m in product(e.datasets, TRUNCATIONS, CONTINUOUS):
        ours, other = e.mean(d, "soden", "ctd", g), e.mean(d, m, "ctd", g)
        if ours is not None and other is not None:
            yield Check(d, _name(d, g, m), ours > other, f"{ours:.3f} and {other:.3f}")


def significantly(e: Evidence) -> Iterator[Check]:
    """Better with an asterisk, where the text does not make an exception."""
    for d, g, m in product(e.datasets, TRUNCATIONS, CONTINUOUS):
        ours, other = e.cell(d, "soden", "ctd", g), e.cell(d, m, "ctd", g)
        if ours is None or other is None or (d in LARGE and g != "0.4"):
            continue
        passed = ours["mean"] > other["mean"] and bool(other["significant"])
        yield Check(d, _name(d, g, m), passed, f"{ours['mean']:.3f} and {other['mean']:.3f}{_p(other)}")


def _p(cell: dict[str, float]) -> str:
    return "" if cell["p_value"] != cell["p_value"] else f", p = {cell['p_value']:.2g}"


def on_every_set(e: Evidence) -> Iterator[Check]:
    """The summary's form: significantly better at one truncation at least, for each set and baseline."""
    for d, m in product(e.datasets, CONTINUOUS):
        pairs = [(e.cell(d, "soden", "ctd", g), e.cell(d, m, "ctd", g)) for g in TRUNCATIONS]
        known = [(a, b) for a, b in pairs if a is not None and b is not None]
        if known:
            wins = sum(a["mean"] > b["mean"] and bool(b["significant"]) for a, b in known)
            yield Check(d, f"{DATASETS[d]} vs {MODELS[m]}", wins > 0, f"at {wins} of {len(known)} truncations")


def networks_beat_cox(e: Evidence) -> Iterator[Check]:
    """C of each neural network significantly above that of Cox."""
    for d, g, m in product(e.datasets, TRUNCATIONS, NEURAL):
        net, cox = e.mean(d, m, "ctd", g), e.mean(d, "cox", "ctd", g)
        if net is not None and cox is not None:
            p = e.p_against_cox(d, m, "ctd", g)
            text = f"{net:.3f} and {cox:.3f}" + ("" if p is None else f", p = {p:.2g}")
            yield Check(d, f"{_name(d, g)} {MODELS[m]}", net > cox and (e.run is None or significant(p)), text)


def discrete_are_strong(e: Evidence) -> Iterator[Check]:
    """C of each discrete-time model above that of each continuous-time baseline."""
    for d, g, m, other in product(e.datasets, TRUNCATIONS, DISCRETE, CONTINUOUS):
        one, two = e.mean(d, m, "ctd", g), e.mean(d, other, "ctd", g)
        if one is not None and two is not None:
            yield Check(d, f"{_name(d, g)} {MODELS[m]} vs {MODELS[other]}", one > two, f"{one:.3f} and {two:.3f}")


def _advantage(e: Evidence, dataset: str, model: str) -> float | None:
    """How far a discrete-time model's C is above SODEN's, over the truncations."""
    gaps = []
    for g in TRUNCATIONS:
        one, soden = e.mean(dataset, model, "ctd", g), e.mean(dataset, "soden", "ctd", g)
        gaps += [one - soden] if one is not None and soden is not None else []
    return sum(gaps) / len(gaps) if gaps else None


def advantage_diminishes(e: Evidence) -> Iterator[Check]:
    """Smaller on each large set than on each small one."""
    for m, large, small in product(DISCRETE, LARGE, SMALL):
        one, two = _advantage(e, large, m), _advantage(e, small, m)
        if one is not None and two is not None:
            where = f"{MODELS[m]}, {DATASETS[large]} against {DATASETS[small]}"
            yield Check(large, where, one < two, f"ahead of SODEN by {one:+.3f} and {two:+.3f}")


def similarly_calibrated(e: Evidence) -> Iterator[Check]:
    """The IBS of all models but DeepHit lie within SPREAD."""
    for d, g in product(e.datasets, TRUNCATIONS):
        values = [v for m in MAIN if m != "deephit" and (v := e.mean(d, m, "ibs", g)) is not None]
        if len(values) > 1:
            gap = max(values) - min(values)
            yield Check(d, _name(d, g), gap <= SPREAD, f"IBS from {min(values):.3f} to {max(values):.3f}")


def _rank_checks(e: Evidence, metric: str, best: bool, sign: int) -> Iterator[Check]:
    """Whether DeepHit has the best (or worst) mean, rounded as printed; `sign` 1 where higher is better."""
    for d, g in product(e.datasets, TRUNCATIONS):
        values = {m: sign * round(v, 3) for m in MAIN if (v := e.mean(d, m, metric, g)) is not None}
        if "deephit" not in values or len(values) < 3:
            continue
        extreme = max(values.values()) if best else min(values.values())
        who = ", ".join(MODELS[m] for m, v in values.items() if v == extreme)
        text = f"{'best' if best else 'worst'} {sign * extreme:.3f} ({who})"
        yield Check(d, f"{_name(d, g)} {metric}", values["deephit"] == extreme, text)


def deephit_best_c(e: Evidence) -> Iterator[Check]:
    """Best C."""
    yield from _rank_checks(e, "ctd", True, 1)


def deephit_worst_calibrated(e: Evidence) -> Iterator[Check]:
    """Worst IBLL and worst IBS."""
    yield from _rank_checks(e, "ibll", False, 1)
    yield from _rank_checks(e, "ibs", False, -1)


def better_or_similar(e: Evidence) -> Iterator[Check]:
    """On the large sets SODEN's C is higher than a discrete-time model's, or not significantly different."""
    for d, g, m in product([d for d in e.datasets if d in LARGE], TRUNCATIONS, DISCRETE):
        ours, other = e.cell(d, "soden", "ctd", g), e.cell(d, m, "ctd", g)
        if ours is not None and other is not None:
            passed = ours["mean"] >= other["mean"] or not other["significant"]
            yield Check(d, _name(d, g, m), passed, f"{ours['mean']:.3f} and {other['mean']:.3f}{_p(other)}")


def price_of_ranking(e: Evidence) -> Iterator[Check]:
    """Where DeepHit's C is above SODEN's, its IBLL and IBS are worse."""
    for d, g in product(e.datasets, TRUNCATIONS):
        hit, soden = ([e.mean(d, m, metric, g) for metric in ("ctd", "ibll", "ibs")] for m in ("deephit", "soden"))
        if None in hit or None in soden or not hit[0] > soden[0]:  # type: ignore[operator]
            continue
        passed = hit[1] < soden[1] and hit[2] > soden[2]  # type: ignore[operator]
        text = f"IBLL {hit[1]:.3f} and {soden[1]:.3f}, IBS {hit[2]:.3f} and {soden[2]:.3f}"
        yield Check(d, _name(d, g), passed, text)


def tail_is_worse(e: Evidence) -> Iterator[Check]:
    """On the large sets every model's C is lower with the tail than without it."""
    for d, m, g in product([d for d in e.datasets if d in LARGE], MAIN, ("1e-8", "0.2")):
        tail, head = e.mean(d, m, "ctd", g), e.mean(d, m, "ctd", "0.4")
        if tail is not None and head is not None:
            yield Check(d, f"{DATASETS[d]} {MODELS[m]} {g}", tail < head, f"{tail:.3f} and {head:.3f} at 0.4")


def tail_is_less_significant(e: Evidence) -> Iterator[Check]:
    """On the large sets fewer models differ significantly from SODEN in C with the tail than without it."""
    for d, g in product([d for d in e.datasets if d in LARGE], ("1e-8", "0.2")):
        counts = []
        for level in (g, "0.4"):
            cells = [c for m in MAIN if (c := e.cell(d, m, "ctd", level)) is not None]
            counts.append(sum(bool(c["significant"]) for c in cells))
        yield Check(d, _name(d, g), counts[0] <= counts[1], f"{counts[0]} asterisks, {counts[1]} at 0.4")


def nearly_untruncated(e: Evidence) -> Iterator[Check]:
    """On the large sets C at 1e-8 and at 0.2 are the same to SAME."""
    for d, m in product([d for d in e.datasets if d in LARGE], MAIN):
        one, two = e.mean(d, m, "ctd", "1e-8"), e.mean(d, m, "ctd", "0.2")
        if one is not None and two is not None:
            yield Check(d, f"{DATASETS[d]} {MODELS[m]}", abs(one - two) <= SAME, f"{one:.4f} and {two:.4f}")


S = "5.5.1"
CLAIMS = (
    Claim(
        "beats_continuous",
        S,
        "SODEN outperforms the other continuous-time models (Cox, DeepSurv, Cox-Time) in C-index.",
        "mean C of SODEN above the other's, for each set, truncation and model",
        beats_continuous,
        PAPER_DATASETS,
    ),
    Claim(
        "significantly",
        S,
        "The differences in C-index are significant on all data sets, except with large tau on MIMIC-SEQ and MIMIC.",
        "higher mean and p < 0.05 in the paired t-test over splits; on MIMIC(-SEQ) at 0.4 only",
        significantly,
        PAPER_DATASETS,
    ),
    Claim(
        "networks_beat_cox",
        S,
        "All neural network models significantly outperform the Cox model in almost all cases.",
        "higher mean C and p < 0.05 against Cox in at least 90% of the cases",
        networks_beat_cox,
        ("mimic", "support", "metabric"),
        ALMOST_ALL,
    ),
    Claim(
        "discrete_are_strong",
        S,
        "Nnet-Survival and DeepHit show strong C-index compared to continuous-time models in general.",
        "mean C above that of Cox, DeepSurv, Cox-Time in most comparisons",
        discrete_are_strong,
        PAPER_DATASETS,
        MOST,
    ),
    Claim(
        "advantage_diminishes",
        S,
        "The advantage of the discrete-time models diminishes on MIMIC-SEQ and MIMIC.",
        "mean lead over SODEN in C smaller on each large set than on each small one",
        advantage_diminishes,
        LARGE,
    ),
    Claim(
        "similarly_calibrated",
        S,
        "Overall, most models are similarly well calibrated.",
        f"IBS of all models but DeepHit within {SPREAD} of each other, in most settings",
        similarly_calibrated,
        PAPER_DATASETS,
        MOST,
    ),
    Claim(
        "deephit_best_c",
        S,
        "DeepHit has the best C-index in most settings.",
        "best mean, rounded as printed",
        deephit_best_c,
        PAPER_DATASETS,
        MOST,
    ),
    Claim(
        "deephit_worst_calibrated",
        S,
        "DeepHit has the worst IBLL and IBS in most settings.",
        "worst mean, rounded as printed",
        deephit_worst_calibrated,
        PAPER_DATASETS,
        MOST,
    ),
    Claim(
        "on_every_set",
        S,
        "In summary, SODEN is significantly better in discrimination than all continuous-time "
        "baselines on all data sets.",
        "higher C and p < 0.05 at one truncation at least, for each set and baseline",
        on_every_set,
        PAPER_DATASETS,
    ),
    Claim(
        "better_or_similar",
        S,
        "On the larger data sets SODEN achieves better or similar C-index compared to the discrete models.",
        "higher mean C, or p >= 0.05",
        better_or_similar,
        LARGE,
    ),
    Claim(
        "price_of_ranking",
        S,
        "The superior discrimination of DeepHit comes at the price of inferior calibration.",
        "wherever its C is above SODEN's, its IBLL is lower and its IBS higher",
        price_of_ranking,
        PAPER_DATASETS,
    ),
    Claim(
        "tail_is_worse",
        S,
        "On MIMIC and MIMIC-SEQ, including more of the tail (1e-8 or 0.2) gives a worse C than 0.4.",
        "mean C at 1e-8 and at 0.2 below that at 0.4, for each model",
        tail_is_worse,
        LARGE,
    ),
    Claim(
        "tail_is_less_significant",
        S,
        "Differences in C among models are less significant when more tail samples are included.",
        "no more asterisks at 1e-8 and at 0.2 than at 0.4",
        tail_is_less_significant,
        LARGE,
    ),
    Claim(
        "nearly_untruncated",
        S,
        "On MIMIC and MIMIC-SEQ 1e-8 and 0.2 are both close to the version without truncation.",
        f"mean C at 1e-8 and 0.2 within {SAME}",
        nearly_untruncated,
        LARGE,
    ),
)
