"""The front of `python -m benchmarks`: exit codes, and output that arrives although the process leaves in a hurry."""

import argparse
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

from benchmarks.__main__ import BEHIND, GROUPS, RENAMED, STUDIES, main, verbs
from benchmarks.commands import _snakemake
from benchmarks.commands._arguments import run_sub_verb, sub_verbs

COMMAND = [sys.executable, "-m", "benchmarks"]


def test_the_help_fits_one_screen_and_begins_with_what_to_start_with(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    shown = [name for names in GROUPS.values() for name in names]
    assert [line.split()[:3] for line in lines[2:5]] == [["python", "-m", "benchmarks"]] * 3
    assert all(any(line.startswith(f"  {name} ") for line in lines) for name in shown)
    assert len(shown) <= 10
    others = [name for name in verbs() if name not in {*shown, *BEHIND}]
    assert len(lines) - sum(f"  {name} " in line for line in lines for name in others) <= 24
    assert max(map(len, lines)) <= 101


def test_no_two_verbs_differ_by_a_letter() -> None:
    names = sorted({name for names in GROUPS.values() for name in names} | set(BEHIND))
    for first in names:
        for second in names:
            if first != second:
                changed = sum(a != b for a, b in zip(first, second, strict=False)) + abs(len(first) - len(second))
                assert changed > 1, (first, second)


@pytest.mark.parametrize("name", [*RENAMED, *STUDIES, "tuen"])
def test_a_verb_that_is_not_there_is_answered_in_one_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    if name in verbs():
        pytest.skip("its file is still there")
    assert main([name, "--run", "x"]) == 2
    answer = capsys.readouterr().err
    assert answer.count("\n") == 1
    assert RENAMED.get(name, "benchmarks.studies" if name in STUDIES else "choose among run, plan, status") in answer


def test_a_verb_has_parts_with_arguments_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    def add(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--n", type=int, required=True)

    def double(args: argparse.Namespace) -> int:
        """Double a number."""
        return 2 * int(args.n)

    parser = argparse.ArgumentParser()
    sub_verbs(parser, {"double": (add, double), "nothing": (lambda _: None, lambda _: 0)})
    assert run_sub_verb(parser.parse_args(["double", "--n", "3"])) == 6
    assert run_sub_verb(parser.parse_args(["nothing"])) == 0
    for words, answer in ((["double"], "--n"), (["treble"], "choose from"), ([], "double|nothing")):
        with pytest.raises(SystemExit):
            parser.parse_args(words)
        assert answer in capsys.readouterr().err
    assert "Double a number." in parser.format_help()


def test_a_python_without_the_packages_is_told_where_they_are() -> None:
    """-S -I: the same Python with no site-packages."""
    script = "import sys; sys.path.insert(0, sys.argv.pop(1)); from benchmarks.__main__ import main; sys.exit(main())"
    words = [sys.executable, "-S", "-I", "-c", script, str(ROOT), "status"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 1
    assert done.stderr.startswith("status: ")
    assert "make setup" in done.stderr
    assert ".venv/bin/python" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_that_leaves_early_is_no_error() -> None:
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_a_table_is_asked_for_by_its_name_and_what_was_not_asked_for_is_not_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Snakemake is left out: it knows the folder as the output of one rule, and makes it if it is not there."""
    tables, asked = tmp_path / "results" / "quick" / "tables", []

    def call(options: list[str], *_: object) -> int:
        asked.append(options[options.index("--") + 1 :])
        tables.mkdir(exist_ok=True)
        (tables / "support.tex").touch()
        return 0

    monkeypatch.setattr(_snakemake, "call", call)
    tables.mkdir(parents=True)
    (tables.parent / "report.html").touch()
    words = ["run", "quick", "--directory", str(tmp_path), "--targets"]
    assert main([*words, "results/quick/tables/support.tex"]) == 0
    said = capsys.readouterr().out
    assert "LaTeX tables: " in said
    assert "report.html" not in said
    assert main([*words, "results/quick/tables/suport.tex"]) == 1
    assert "suport.tex: this run makes no such file; beside it are support.tex" in capsys.readouterr().out
    assert asked == [["results/quick/tables"]] * 2
