"""The front of `python -m benchmarks`: exit codes, and output that arrives although the process leaves in a hurry."""

import subprocess
import sys

from conftest import ROOT

from benchmarks.__main__ import GROUPS, _grouped, verbs

COMMAND = [sys.executable, "-m", "benchmarks"]


def test_all_verbs_are_listed() -> None:
    done = subprocess.run(COMMAND, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0
    assert all(f"\n  {verb} " in done.stdout for verb in verbs())


def test_the_help_is_the_docstrings_and_fits_a_screen() -> None:
    listed = verbs()
    assert listed["split"].startswith("Split a data set: row numbers of train, valid and test")
    assert not [verb for verb in listed if verb.startswith("_")]
    assert {verb: text for verb, text in listed.items() if not 20 < len(text) <= 90} == {}


def test_every_verb_has_a_group_and_every_group_its_verbs() -> None:
    """A verb that was renamed would make the help raise; one that nobody placed is listed under its own title."""
    placed = [name for group in GROUPS.values() for name in group]
    assert len(placed) == len(set(placed))
    assert set(placed) <= set(verbs())
    assert _grouped([*verbs(), "brand_new"])["More"] == [*(n for n in verbs() if n not in placed), "brand_new"]


def test_an_unknown_verb_is_an_error_with_the_choices() -> None:
    done = subprocess.run([*COMMAND, "tuen"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 2
    assert "unknown verb 'tuen'" in done.stderr
    assert "\n  tune " in done.stderr


def test_what_a_user_can_mend_is_one_line_and_exit_code_1() -> None:
    words = ["explain", "support", "ctd", "0.4", "soden", "--run", "no/such/run"]
    done = subprocess.run([*COMMAND, *words], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 1
    assert done.stderr.startswith("explain: ")
    assert "Traceback" not in done.stderr


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
