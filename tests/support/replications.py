"""Invented replications as they are kept: configurations of known quality, seen with noise on every split."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.results.replications import BEST_TRIALS, TRIAL, column
from benchmarks.results.tidy import PAPER_METRICS

# What published values are near to, so that they can be judged.
LEVEL = {"ctd": 0.65, "ibll": -0.5, "ibs": 0.17, "nll": 0.15}


def write_replications(
    folder: Path,
    seeds: int,
    models: tuple[str, ...] = ("soden", "deepsurv"),
    datasets: tuple[str, ...] = ("metabric",),
    size: int = 100,
    spread: float = 0.004,
    common: float = 0.5,
    shift: float = 0.0,
    rng: int = 0,
    lists: str = "shared",
) -> Path:
    """`common` is the share of a configuration's quality that is the same on all splits; all trials are scored."""
    draw = np.random.default_rng(rng)
    for seed in range(1, seeds + 1):
        trials, best, scores = [], [], []
        for dataset in datasets:
            for k, model in enumerate(models):
                shared = np.sqrt(common) * draw.normal(size=size)
                for split in range(1, 11):
                    own = shared if lists == "shared" else np.sqrt(common) * draw.normal(size=size)
                    quality = own + np.sqrt(1 - common) * draw.normal(size=size)
                    valid = quality + 0.5 * draw.normal(size=size)
                    test = quality + 0.5 * draw.normal(size=size)
                    key = {"dataset": dataset, "model": model, "split": split}
                    frame = pd.DataFrame({"trial": range(size), "score": valid, "status": "ok"}).assign(**key)
                    trials.append(frame)
                    level = {m: LEVEL[m] + 0.02 * k + shift for m in LEVEL}
                    values = {
                        column(convention, m, g): level[m] + spread * test + off
                        for convention, off in (("published", 0.0), ("text", 0.03))
                        for m, g in PAPER_METRICS
                    }
                    best.append(frame[TRIAL].assign(**values))
                    for name, scored in values.items():
                        cell = dict(zip(("convention", "metric", "g_tau"), name.split("/"), strict=True))
                        scores.append(key | cell | {"value": scored[valid.argmax()]})
        path = folder / str(seed)
        path.mkdir(parents=True)
        pd.concat(trials).to_parquet(path / "trials.parquet", index=False)
        pd.concat(best).to_parquet(path / BEST_TRIALS, index=False)
        pd.DataFrame(scores).to_csv(path / "conventions.csv", index=False)
        training = {"max_epochs": 100}
        config = {"seed": seed, "trials": size, "training": training, "configurations": lists}
        (path / "config.json").write_text(json.dumps(config | {"evaluation": {"convention": "published"}}))
    return folder
