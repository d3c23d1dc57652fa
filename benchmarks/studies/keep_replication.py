"""Keep a replication in results/replications/<seed>: a finished run whole, a run in progress as far as it is.

Of a run in progress config.json and the finished trials are kept, beside those kept before that the run has not taken
over yet. The run goes on from them in any clone, with `known: results/replications/<seed>` in its config; no verdict
looks at them before it is finished.
"""

from __future__ import annotations

import argparse
import json
import shutil
from dataclasses import replace
from pathlib import Path

from benchmarks import ROOT
from benchmarks.data.files import replacing
from benchmarks.results.files import read_json, read_parquet
from benchmarks.results.folder import NEEDED, find_run
from benchmarks.results.privacy import refuse_credentialed
from benchmarks.results.replications import FINISHED, FOLDER
from benchmarks.results.types import Trial, read_trials, trials_frame
from benchmarks.study.reference import renew
from benchmarks.study.store import read_journals
from benchmarks.study.stored import write_manifest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("name", metavar="RUN", help="name or folder of a run of config/replication.yaml")
    parser.add_argument("--directory", type=Path, default=ROOT, help="where results/ of the run is")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where replications are kept")


def run(args: argparse.Namespace) -> int:
    """Write the folder of its seed; a replication that is kept finished is not replaced by one in progress."""
    source = find_run(args.name, args.directory / "results", finished=False)
    config = read_json(source / "config.json", ("seed", "trials"))
    target = args.folder / str(config["seed"])
    if all((source / name).is_file() for name in (*NEEDED, *FINISHED)):
        renew(source, target)
        print(f"{target}: finished")
        return 0
    if (target / FINISHED[-1]).is_file():
        raise ValueError(f"{target} is a finished replication; {source} is in progress and does not replace it")
    refuse_credentialed(source, "nothing of it is kept in the repository")
    rows = finished_trials(source, target)
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    with replacing(target / "config.json") as part:
        part.write_text(json.dumps(config | {"known": ""}, indent=1, sort_keys=True))
    with replacing(target / "trials.parquet") as part:
        # Without digests, which the code of older commits would carry over to rows that they no longer fit.
        trials_frame(rows).drop(columns="digest").to_parquet(part, index=False)
    write_manifest(target)
    print(f"{target}: unfinished, {len(rows):,} trials")
    return 0


def finished_trials(source: Path, target: Path) -> list[Trial]:
    """The rows of a run's journals and those kept before, each trial once, in the order of trials.parquet."""
    table = target / "trials.parquet"
    kept = read_trials(read_parquet(table)) if table.is_file() else ()
    earlier = {(trial.dataset, trial.model, *trial.pair): trial for trial in kept}
    trials: dict[tuple[str, str, int, int], Trial] = {}
    for folder in sorted((source / "trials").glob("*/*")):
        for trial in read_journals(folder):
            key = (trial.dataset, trial.model, *trial.pair)
            if trial.status == "failed":
                continue
            if key in trials and trials[key].identity != trial.identity:
                raise ValueError(f"{source} has two versions of {trial.key}: settings or code changed while it ran")
            trials[key] = replace(trial, taken_from="", state="")
    if not trials:
        raise ValueError(f"{source} has no finished trial yet; `python -m benchmarks status` says how far it is")
    trials = earlier | trials
    return [trials[key] for key in sorted(trials)]
