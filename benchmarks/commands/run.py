"""Run a tier from start to report; after a kill or a power cut the same command goes on."""

from __future__ import annotations

import argparse
import fcntl
import os
import re
import shutil
import time
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from benchmarks import ROOT
from benchmarks.commands import _snakemake
from benchmarks.commands._arguments import processes
from benchmarks.commands._snakemake import RunError, short
from benchmarks.config import Config, read, resolve, tiers, with_tier
from benchmarks.results.privacy import make_folder
from benchmarks.study import cost, plan, status
from benchmarks.study.store import Store, device_type, nothing_known, read_journal, sentences

if TYPE_CHECKING:
    from rich.console import Console

# One output of each kind of job that starts from something else than another job's output, or whose rerun is cheap.
MADE = (
    "data/*.json",
    "mimic3/cohort.json",
    "mimic3/build.json",
    "simulation/*.npz",
    "trials/*/*/*.parquet",
    "chosen/*/*.json",
    "cells.csv",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("tier", nargs="?", help=f"{', '.join(tiers())}; default: that of --configfile, else paper")
    parser.add_argument("--cores", type=processes, default=os.cpu_count() or 1)
    parser.add_argument("--directory", type=Path, default=ROOT, help="where results/ and figures/ go")
    parser.add_argument("--configfile", type=Path, help="your own overlay on top of the tier")
    parser.add_argument(
        "--targets", nargs="+", default=[], metavar="RULE", help="stop there: tables, or a file by name"
    )
    parser.add_argument("--fresh", nargs="+", default=[], metavar="MODEL", help="throw these models' rows away first")
    parser.add_argument(
        "--profile", help="send jobs to a cluster: a name in workflow/profiles, or the folder of your own"
    )
    parser.add_argument("--keep-failed", action="store_true", help="go on with trials that raised an error as rows")


def run(args: argparse.Namespace) -> int:
    """Check, lock, say what is to be done, start Snakemake, show progress, say what was made."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)  # a path or a log line must stay in one piece
    overlay = with_tier(read(args.configfile) if args.configfile else {}, args.tier)
    if args.keep_failed:
        overlay["keep_failed"] = True
    config = resolve(overlay)
    directory = args.directory.resolve()
    _check_targets(args.targets, config.run)
    if args.profile is None and config.device.startswith("cuda"):  # with a profile the GPU is on other nodes
        device_type(config.device)
    results = directory / "results" / config.run
    with _lock(results):
        _snakemake.release_stale_lock(directory, console)
        _throw_away(results, args.fresh, config)
        _forget_failed(results)
        _forget_unrecorded(directory, results, config, console)
        _announce(results, config, console)
        return _run(args, config, results, console)


def _check_targets(targets: Sequence[str], run: str) -> None:
    """A rule by its name, or a file of this run; said before anything is locked or written."""
    files = (ROOT / "workflow" / "Snakefile", *(ROOT / "workflow").rglob("*.smk"))
    text = "\n".join(file.read_text() for file in files)
    rules = re.findall(r"^(?:rule|checkpoint) (\w+):", text, flags=re.MULTILINE)
    for name in targets:
        file = Path(os.path.normpath(name))
        if name not in rules and not any(file.is_relative_to(f"{top}/{run}") for top in ("results", "figures")):
            raise RunError(
                f"--targets {name}: no rule of this name and no file of this run; choose among "
                f"{', '.join(sorted(rules))}, or name a file in results/{run}/ or figures/{run}/"
            )


def _outputs(targets: Sequence[str], directory: Path, run: str) -> list[str]:
    """The targets as Snakemake knows them: tables and figures are made with their folder, anew if one is not in it."""
    folders = (Path("results", run, "tables"), Path("figures", run))
    outputs = []
    for name in targets:
        file = Path(os.path.normpath(name))
        folder = next((folder for folder in folders if folder in file.parents), None)
        if folder and not (directory / file).exists():
            shutil.rmtree(directory / folder, ignore_errors=True)
        outputs.append(str(folder or name))
    return list(dict.fromkeys(outputs))


def _throw_away(results: Path, models: Sequence[str], config: Config) -> None:
    """`--fresh`: the rows and states of these models, on all data sets of this run."""
    for name in models:
        if name not in config.models:
            raise RunError(f"--fresh {name}: not a model of this run; choose among {', '.join(config.models)}")
        if config.known:
            raise RunError(f"--fresh {name}: its rows would come back from known: {config.known}; set known to ''")
        for folder in results.glob(f"trials/*/{name}"):
            shutil.rmtree(folder)


def _forget_failed(results: Path) -> None:
    """Tables with failed trials are made again, which runs these trials again; a journal line costs nothing."""
    for path in results.glob("trials/*/*/*.jsonl"):
        if b'"status": "failed"' not in path.read_bytes():
            continue
        last = {trial.pair: trial.status for trial in read_journal(path)}
        if "failed" in last.values():
            path.with_suffix(".parquet").unlink(missing_ok=True)


def _forget_unrecorded(directory: Path, results: Path, config: Config, console: Console) -> None:
    """Delete outputs that Snakemake has no record of: whether they are as the configuration asks, it could not tell.

    It writes its records when it sees a job end, so there is none for a job that outlived it, nor for copied results.
    """
    records = directory / ".snakemake" / "metadata"
    found = [path for pattern in MADE for path in results.glob(pattern)]
    if plan.raw_tables(config, results) is None:  # then MIMIC could not be built again
        found = [path for path in found if not path.is_relative_to(results / "mimic3") and path.stem not in plan.MIMIC]
    names = {path: urlsafe_b64encode(str(path.relative_to(directory)).encode()).decode() for path in found}
    if unrecorded := [path for path, name in names.items() if not (records / name).is_file()]:
        console.print(
            f"Making {len(unrecorded)} files again that Snakemake has no record of; finished trials are kept."
        )
    for path in unrecorded:
        path.unlink()


def _announce(results: Path, config: Config, console: Console) -> None:
    """How many rows will be made and why; of a run that begins with nothing there is nothing to say."""
    if not config.known and not any(results.glob("trials/*/*/*.jsonl")):
        return
    store = Store(results, config)
    names = status.available(results, config)
    previews = [store.preview(name, model) for name in names for model in plan.models_for(config, name)]
    for line in sentences(previews, short(Path(config.known)) if config.known else ""):
        console.print(line)
    if why := nothing_known(store, previews):
        raise RunError(why)


def _lock(results: Path) -> IO[str]:
    """Hold the results folder; the system lets go of it when this process ends, however it ends."""
    try:
        make_folder(results)
        file = (results / ".lock").open("w")
    except OSError as error:
        raise RunError(
            f"cannot write to {results} ({error.strerror}); make it writable, or choose another --directory"
        ) from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RunError(
            _snakemake.elsewhere(
                f"another run is working in {results}, which `python -m benchmarks status {results.name}` follows"
            )
        ) from None
    return file


def _run(args: argparse.Namespace, config: Config, results: Path, console: Console) -> int:
    log = results / "snakemake.log"
    cores = args.cores if args.profile is None else 1
    options = ["--rerun-incomplete", "--keep-going"]
    options += _profile(args.profile) if args.profile else ["--cores", str(cores)]
    options += ["--directory", str(args.directory.resolve())]
    if args.configfile:
        options += ["--configfile", str(args.configfile.resolve())]
    options += ["--config", f"tier={config.tier}", *(["keep_failed=True"] if args.keep_failed else [])]
    outputs = _outputs(args.targets, args.directory, config.run)
    options += ["--", *outputs]
    place = f"on {cores} cores" if args.profile is None else f"with profile {args.profile}"
    console.print(f"Tier {config.tier} {place}; results in {short(results)}/, log in {log.name}.")
    started = time.monotonic()
    watch = status.Watch(results, config, cost.expected_seconds(config))
    code = _snakemake.call(options, args.directory.resolve(), log, watch, cores, console)
    if code in (130, 143):
        return code
    if code:
        _snakemake.explain(log, results, console)
        if failed := sum(entry.failed for entry in watch.entries()):
            console.print(
                f"{failed} trials failed; the same command tries them again, --keep-failed goes on with them as rows."
            )
        return 1
    for name in args.targets:
        if "/" in name and not (file := args.directory / name).exists():
            others = ", ".join(sorted(path.name for path in file.parent.glob(f"*{file.suffix}")))
            console.print(f"--targets {name}: this run makes no such file; beside it are {others}", style="red")
            return 1
    as_asked = _conclude(config, results, watch, time.monotonic() - started, console, outputs)
    return 0 if as_asked or args.targets else 1


def _profile(name: str) -> list[str]:
    """The option that names a profile: a folder with a config.yaml."""
    ours = ROOT / "workflow" / "profiles"
    folder = next((place for place in (ours / name, Path(name)) if (place / "config.yaml").is_file()), None)
    if folder is None:
        names = ", ".join(sorted(place.name for place in ours.iterdir()))
        raise RunError(f"--profile: got {name!r}; choose among {names}, or name a folder that holds a config.yaml")
    return ["--workflow-profile", str(folder.resolve())]


def _conclude(
    config: Config,
    results: Path,
    watch: status.Watch,
    seconds: float,
    console: Console,
    outputs: Sequence[str],
) -> bool:
    """Say where what was asked for is (no outputs: everything), and whether it is as the configuration says."""
    console.print(f"Done in {cost.duration(seconds)}: {status.headline(watch.entries())}.")
    for missing in status.missing(results, config):
        console.print(f"  without {missing}", style="yellow")
    figures = results.parents[1] / "figures" / config.run
    for rule, what, paths in (
        ("scores", "scores, t-tests, cells", [results / name for name in ("scores.csv", "tests.csv", "cells.csv")]),
        ("tables", "LaTeX tables", [results / "tables"]),
        ("report", "report", [results / "report.html"]),
        ("figures", "figures", [figures]),
    ):
        asked = {"all", rule, *(str(path.relative_to(results.parents[1])) for path in paths)}
        if (not outputs or asked & set(outputs)) and (existing := [short(path) for path in paths if path.exists()]):
            console.print(f"  {what}: {' '.join(existing)}")
    if (results / "cells.csv").is_file():
        from benchmarks.study.stored import stale

        texts = list(stale(results, config, status.available(results, config)))
        for text in texts[:5]:
            console.print(f"  not as this run's configuration asks: {text}", style="red", markup=False)
        if texts:
            console.print(
                f"  {len(texts)} in all: delete {short(results)}/trials.parquet, chosen and scores, run again"
            )
            return False
    return True
