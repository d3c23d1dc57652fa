"""What a run will need before it starts: CPU hours and memory, from a table of measured means."""

from __future__ import annotations

import csv
import heapq
import math
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks import registry
from benchmarks.config import Config

if TYPE_CHECKING:
    import pandas as pd

    from benchmarks.study.plan import Chunk

# Mean CPU seconds and largest peak memory (MB) of trials of full length on one thread, per data set and model:
# benchmarks/studies/costs.py, and mimic_costs.py for MIMIC and MIMIC-SEQ.
MEASURED = Path(__file__).with_name("measured_costs.csv")
# Subjects of the data sets, to scale a set that was never measured from one that was.
SIZES = {"support": 8873, "metabric": 1904, "mimic": 35_304, "mimic_seq": 35_304, "simulated": 10_000, "flchain": 7874}
SIZES |= {"gbsg2": 686, "whas500": 500, "aids": 1151}
HEADROOM = 1.25  # memory asked for beyond what was measured: allocators differ
UNMEASURED_CHUNK = 25  # trials of a job whose seconds nobody knows
MIMIC_PATIENTS = 46_520
START_SECONDS = 8  # of a tuning job: imports, compiled code, data; measured on a core of 2.6 GHz
# CPU seconds, peak memory and events on disk of one build from 330,712,483 rows of CHARTEVENTS (benchmarks/speed).
BUILD_SECONDS, BUILD_MB, BUILD_DISK_MB = 155, 1475, 620
# CPU seconds to score one chosen model on MIMIC's test part, a mean over models, and the largest peak memory of any.
SCORE_SECONDS, SCORE_MB = 10.8, 2551
STATE_MB, ROW_MB = 0.15, 0.002  # on disk: a chunk's best state, a trial's row in journal and table


class Cost(NamedTuple):
    """A trial of a model on a data set; nan where the model was never measured."""

    seconds: float  # of CPU, a mean
    peak_mb: float  # the largest that was seen
    scaled_from: str  # empty if this data set was measured, else the one that the numbers come from


@cache
def read(path: Path = MEASURED) -> dict[str, dict[str, tuple[float, float]]]:
    """Model -> data set -> mean seconds and peak memory; without pandas, which would take a second to load."""
    table: dict[str, dict[str, tuple[float, float]]] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            table.setdefault(row["model"], {})[row["dataset"]] = float(row["seconds"]), float(row["peak_mb"])
    return table


def trial(config: Config, dataset: str, model: str, path: Path = MEASURED) -> Cost:
    """What a trial of this run costs: of this data set, or of the nearest in size, whose seconds grow with size."""
    measured = read(path).get(model, {})
    if not measured:
        return Cost(math.nan, math.nan, "not measured")
    size = SIZES.get(dataset, 10_000)
    nearest = dataset if dataset in measured else min(measured, key=lambda name: abs(SIZES[name] - size))
    seconds, peak = measured[nearest]
    if nearest != dataset:
        seconds *= size / SIZES[nearest]
    if registry.is_searched(model):  # fewer epochs make a trial cheaper; a model without search has none
        seconds *= min(1.0, config.training.max_epochs / 100)
    if dataset in ("mimic", "mimic_seq"):
        seconds *= part_of_mimic(config)
    return Cost(seconds, peak, "" if nearest == dataset else nearest)


def expected(config: Config, path: Path = MEASURED, datasets: Iterable[str] = ()) -> pd.DataFrame:
    """Per data set and model: jobs, trials, and the columns of `Cost`."""
    import pandas as pd

    from benchmarks.study import plan

    rows = []
    for dataset in datasets or config.datasets:
        for model in plan.models_for(config, dataset):
            chunks = plan.chunks(config, dataset, model)
            trials = sum(len(chunk.trials) for chunk in chunks)
            rows.append((dataset, model, len(chunks), trials, *trial(config, dataset, model, path)))
    return pd.DataFrame(rows, columns=["dataset", "model", "jobs", "trials", *Cost._fields])


def expected_seconds(config: Config) -> dict[tuple[str, str], float]:
    """(data set, model) -> CPU seconds of a trial, stand-ins of data sets included."""
    from benchmarks.study import plan

    names = [*config.datasets, *config.fallback.values()]
    return {(d, m): trial(config, d, m).seconds for d in names for m in plan.models_for(config, d)}


def job_mb(config: Config, dataset: str, model: str) -> int:
    """Memory a tuning job asks for: what the config says, more where the model's widest network needs more."""
    peak, least = trial(config, dataset, model).peak_mb, config.resources.mem_mb
    return least if math.isnan(peak) else max(least, math.ceil(HEADROOM * peak / 100) * 100)


def trials_in(seconds: float, config: Config, dataset: str, model: str) -> int:
    """How many trials take about so many seconds; a fixed number where nothing was measured."""
    each = trial(config, dataset, model).seconds
    return UNMEASURED_CHUNK if math.isnan(each) else max(1, round(seconds / max(each, 1e-3)))


def of_chunk(config: Config, chunk: Chunk, path: Path = MEASURED) -> float:
    """Expected seconds of a tuning job; 0 where nothing was measured."""
    seconds = trial(config, chunk.dataset, chunk.model, path).seconds
    return 0.0 if math.isnan(seconds) else len(chunk.trials) * seconds


def by_the_clock(jobs: Iterable[float], cores: int) -> float:
    """Seconds until the last job ends, the longest begun first, each with its start-up."""
    free = [0.0] * cores
    for seconds in sorted(jobs, reverse=True):
        heapq.heappush(free, heapq.heappop(free) + START_SECONDS + seconds)
    return max(free)


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def opening(config: Config, cores: int | None, run: Path) -> Iterator[str]:
    """What a run is about to do, how long that takes, and what is left out."""
    from benchmarks import data
    from benchmarks.study import plan

    without = [name for name in config.datasets if name in plan.MIMIC and plan.raw_tables(config, run) is None]
    names = [name for name in config.datasets if name not in without]
    chunks = plan.plan(config, names)
    seconds = by_the_clock([of_chunk(config, chunk) for chunk in chunks], cores or 1)
    trials = sum(len(chunk.trials) for chunk in chunks)
    labels = ", ".join(data.module(name).LABEL for name in names)
    yield (
        f"Tier {config.tier}: {len(config.models)} models on {labels}, {trials} trials; about {duration(seconds)} "
        f"on {cores or 'one'} cores if all is new. Results go to {run}/."
    )
    if without:
        labels = " and ".join(data.module(name).LABEL for name in without)
        yield (
            f"Without {labels}: the tables of MIMIC-III need credentialed access; set data.mimic.raw or MIMIC_III to "
            "their folder."
        )
    if config.tier != "quick":
        yield "To see the path first, in minutes: `make quick`, or --config tier=quick."
    yield f"`python -m benchmarks status {config.run}` follows it; stopped, the same command goes on."


def part_of_mimic(config: Config) -> float:
    """The size of invented tables beside the real ones; costs were measured at the real size."""
    section = config.data.mimic
    invented = not section.raw and section.synthetic_patients
    return section.synthetic_patients / MIMIC_PATIENTS if invented else 1.0


def around_trials(config: Config, datasets: Iterable[str]) -> tuple[float, float]:
    """CPU seconds that MIMIC takes besides trials: to build it, and to score the chosen models of its splits."""
    from benchmarks.study import plan

    mimic = [name for name in datasets if name in plan.MIMIC]
    if not mimic:
        return 0.0, 0.0
    models = sum(plan.n_splits(config, name) for name in mimic for _ in plan.models_for(config, name))
    return BUILD_SECONDS * part_of_mimic(config), SCORE_SECONDS * models * part_of_mimic(config)
