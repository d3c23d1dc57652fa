"""Every command of README, CONTRIBUTING, docs and configuration: run, planned by Snakemake, or parsed; every link."""

import argparse
import contextlib
import itertools
import os
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from conftest import ROOT

from benchmarks import numerics
from benchmarks.__main__ import main, verbs

FILES = ("README.md", "ARTIFACT.md", "CONTRIBUTING.md", "workflow/Snakefile", "config/paper.yaml")
FILES += tuple(f"workflow/profiles/{name}/config.yaml" for name in ("generic", "slurm"))
FILES += ("benchmarks/studies/README.md", "benchmarks/speed/README.md")
FILES += tuple(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.rst")))
PROGRAM = re.compile(r"(make|snakemake|python) (?=[-a-z])")
SCRIPTS = ("python examples/", "python tests/")
READS = ("explain", "plan", "status")  # verbs that are quick and write nothing: these are run


def commands(text: str) -> list[str]:
    """Lines of fenced blocks, comments and docstrings that begin with a program, and such pieces of code in prose."""
    fenced = re.findall(r"^```[^\n]*\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    lines = [line.removeprefix("$ ") for block in fenced for line in block.splitlines()]
    lines += re.findall(r"^(?:# )?(?:.*the same way: )?(snakemake .*)$", prose, flags=re.MULTILINE)
    lines += re.findall(r"^   \$ (.*)$", prose, flags=re.MULTILINE)
    lines += [" ".join(piece.split()) for piece in re.findall(r"`([^`]+)`", prose)]
    # What follows two spaces is an explanation.
    found = (re.split(r"  +", line.split("#")[0])[0].strip() for line in lines if PROGRAM.match(line))
    return [line for line in dict.fromkeys(found) if not {"NAME", "VERB"} & set(line.split())]


FOUND = list(dict.fromkeys(line for name in FILES for line in commands((ROOT / name).read_text())))


def of(program: str) -> list[str]:
    return [line for line in FOUND if line.startswith(program)]


def words(line: str, folder: Path) -> list[str]:
    """The command as typed in the project, with a place for what the reader is to fill in."""
    (folder / "my.yaml").write_text("trials: 1\n")
    for name, value in (("$MIMIC_III", "raw"), ("DIR", "there"), ("my.yaml", "my.yaml")):
        line = line.replace(name, str(folder / value))
    return shlex.split(line)


def test_the_commands_are_found() -> None:
    assert {line.split()[1] for line in of("make ")} >= {"quick", "small", "paper", "test", "lint"}
    assert "snakemake cohorts --cores 2 --config tier=paper" in FOUND
    assert "snakemake --cores 8 --config tier=paper --configfile my.yaml" in FOUND
    assert "python -m benchmarks data export support --out exported" in FOUND
    assert "python -m benchmarks explain support ctd 0.4 soden --run reference" in FOUND
    assert len(FOUND) == sum(map(len, map(of, ("make ", "snakemake ", "python -m ", *SCRIPTS))))


def test_the_list_of_folders_is_that_of_git() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    if not listed:
        pytest.skip("not a git checkout")
    section = (ROOT / "CONTRIBUTING.md").read_text().split("```")[1]
    named = {line.split()[0] for line in section.splitlines() if re.match(r"( {2})?[\w.]+/", line)}
    folders = {name.split("/")[0] + "/" for name in listed if "/" in name}
    inside = {name.split("/")[1] + "/" for name in listed if name.startswith("benchmarks/") and name.count("/") > 1}
    assert named == folders | inside


def test_the_walk_names_the_verbs_that_rules_call() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text().split("## The walk")[1].split("\n## ")[0]
    walked = re.findall(r"`([a-z]+)`", " ".join(re.findall(r"^\d\. (.*?): ", text, flags=re.MULTILINE)))
    rules = "".join(path.read_text() for path in (ROOT / "workflow" / "rules").glob("*.smk"))
    called = re.findall(r'job\("([a-z]+)"(?:, "([a-z]+))?|-m benchmarks ([a-z]+)', rules)
    # Beside the walk: tables that are invented where there are none, and the simulation, which has no raw table.
    assert {*walked, "simulate", "synthesise"} == {word for words in called for word in words if word}
    # One job each but `mimic`, which is three; the report stands after every cell.
    assert len({*walked} - {"mimic", "report"}) == 8


@pytest.mark.parametrize("line", of("make "))
def test_make_knows_its_targets(line: str) -> None:
    done = subprocess.run([*line.split(), "-n"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("line", of("python -m benchmarks "))
def test_verbs_are_run_or_parsed(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verb, *rest = words(line, tmp_path)[3:]
    assert verb in verbs()
    module = import_module(f"benchmarks.commands.{verb}")
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    parser.parse_args(rest)  # SystemExit says what is wrong
    if verb in READS:
        assert main([verb, *rest]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("line", of("python -m benchmarks."))
def test_other_modules_have_the_options_shown(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(numerics, "set_up", lambda *mode: None)  # they are this process's already
    _, _, module, *typed = shlex.split(line)
    given = itertools.takewhile(lambda word: not word.startswith("--"), typed)
    with contextlib.suppress(SystemExit):  # of argparse, after its help
        assert import_module(f"{module}.__main__").main([*given, "--help"]) == 0
    help_text = capsys.readouterr().out
    assert help_text
    assert all(option in help_text for option in re.findall(r"--\S+", line))


@pytest.mark.parametrize("line", [line for folder in SCRIPTS for line in of(folder)])
def test_scripts_are_there(line: str) -> None:
    """What they do has tests of its own."""
    assert (ROOT / line.split()[1]).is_file()


@pytest.mark.parametrize("line", of("snakemake "))
def test_snakemake_plans_what_it_is_asked(line: str, tmp_path: Path) -> None:
    _, *options = words(line, tmp_path)
    if "--report" in options:  # of a finished run, which is none of this test's business: parsed alone
        from snakemake.cli import parse_args

        assert parse_args(options)[1].report == Path("report.zip")
        return
    environment = os.environ | {"MIMIC_III": str(tmp_path / "raw")}
    command = [sys.executable, "-m", "snakemake", *options, "--dry-run", "--directory", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    if "--unlock" in options:  # runs nothing
        assert "Unlocked working directory." in done.stdout
        return
    rule = {"cohorts": "mimic_features", "trials": "trials"}.get(options[0], "gather")
    assert re.search(rf"^{rule} +1$", done.stdout, flags=re.MULTILINE), done.stdout
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text()))))
def test_every_link_inside_the_project_leads_somewhere(target: str) -> None:
    assert target.startswith("https://") or (ROOT / target).exists()
