"""The report in headless Chromium, from a file and without a network: no complaint, tables sort, nothing sticks out."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.chromium import Page, find_chromium
from support.run_folder import write_run
from test_report_page import NOTHING, figures

from benchmarks.report.html import build
from benchmarks.results.folder import read_results
from benchmarks.results.published import published_cells

pytestmark = pytest.mark.slow
COLUMN = "[...document.querySelectorAll('#cost table')[0].tBodies[0].rows].map(r => r.cells[{}].textContent)"
HEAD = "document.querySelectorAll('#cost table')[0].tHead.rows[0].cells[{}]"
CELL = "document.querySelector('[data-key=\"{}\"]')"


@pytest.fixture(scope="module")
def browser() -> Iterator[Page]:
    binary = find_chromium()
    if binary is None:
        pytest.skip("needs chromium (Debian: apt-get install chromium)")
    with Page(binary) as page:
        yield page


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("browser")
    run = read_results(
        write_run(folder / "made", ("support", "metabric", "mimic"), n=5, marks={"mimic": "synthetic"}, bad="x" * 300)
    )
    path = folder / "report.html"
    path.write_text(build(run, figures(folder / "figures"), published_cells(), NOTHING).page, encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [390, 1280])
def test_it_loads_without_a_complaint_and_nothing_sticks_out(width: int, browser: Page, report: Path) -> None:
    browser.complaints.clear()
    browser.open(report, width)
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert browser.run("[innerWidth, document.documentElement.scrollWidth]") == [width, width]
    assert browser.run("[...document.images].every(i => i.complete && i.naturalWidth > 0)")
    assert browser.complaints == []


def test_complaints_are_heard(browser: Page, report: Path, tmp_path: Path) -> None:
    """The check above can fail: a page with an error, a warning and a request from elsewhere is heard."""
    broken = tmp_path / "broken.html"
    broken.write_text("<script>console.warn('w'); missing()</script><img src='https://example.org/a.png'>")
    browser.complaints.clear()
    browser.open(broken, 390)
    heard = " ".join(browser.complaints)
    for word in ("'w'", "missing is not defined", "example.org"):
        assert word in heard
    browser.complaints.clear()


def test_tables_sort_by_number_and_by_text_both_ways(browser: Page, report: Path) -> None:
    browser.open(report, 1280)
    browser.run(HEAD.format(2) + ".firstElementChild.click()")
    values = [float(text) for text in browser.run(COLUMN.format(2))]
    assert values == sorted(values)
    assert len(set(values)) > 1
    assert browser.run(HEAD.format(2) + ".getAttribute('aria-sort')") == "ascending"
    browser.run(HEAD.format(2) + ".firstElementChild.click()")
    values = [float(text) for text in browser.run(COLUMN.format(2))]
    assert values == sorted(values, reverse=True)
    browser.run(HEAD.format(1) + ".firstElementChild.click()")
    names = browser.run(COLUMN.format(1))
    assert names == sorted(names, key=str.lower)
    assert browser.run(HEAD.format(2) + ".hasAttribute('aria-sort')") is False


def choose(browser: Page, name: str, value: str) -> None:
    field = f"document.querySelector('[name={name}]')"
    browser.run(f"{{ {field}.value = {value!r}; {field}.dispatchEvent(new Event('input')) }}")


def test_cells_can_be_searched_and_filtered(browser: Page, report: Path) -> None:
    browser.open(report, 1280)
    count = "Number(document.getElementById('count').textContent.split(' ')[0])"
    shown = "[...document.querySelectorAll('table.cells tbody:not([hidden]) tr[data-model]:not([hidden])')]"
    everything = browser.run(count)
    choose(browser, "dataset", "metabric")
    assert set(browser.run(shown + ".map(r => r.dataset.dataset)")) == {"metabric"}
    choose(browser, "search", "deep")
    assert set(browser.run(shown + ".map(r => r.dataset.model)")) == {"deephit", "deepsurv"}
    choose(browser, "metric", "ibs")
    choose(browser, "level", "0.2")
    assert browser.run(count) == 2
    browser.run("document.getElementById('restore').click()")
    assert browser.run(count) == everything
    choose(browser, "verdict", "not comparable")
    assert set(browser.run(shown + ".map(r => r.dataset.dataset)")) == {"mimic"}
    assert browser.run(count) == 54 + 12
    browser.run("document.getElementById('restore').click()")
    browser.run("document.getElementById('unrun').click()")
    assert browser.run(count) == 251  # MIMIC-SEQ's, too: every entry of the paper's tables


def test_a_number_opens_what_it_rests_on_and_its_link_does_too(browser: Page, report: Path) -> None:
    browser.open(report, 1280)
    key = "metabric/cox_time/ibll/0.2"
    browser.run(CELL.format(key) + ".click()")
    assert browser.run("document.getElementById('cell').open")
    text = browser.run("document.getElementById('opened').textContent")
    for part in ("METABRIC, Cox-Time: IBLL at P(C > τ) = 0.2", "verify cell metabric ibll 0.2 cox_time", "width 16"):
        assert part in text
    assert len(browser.run("[...document.querySelectorAll('#opened tbody tr')].map(r => 1)")) == 5  # splits
    address = browser.run("location.hash")
    browser.open(report, 1280)
    browser.run(f"location.hash = {address!r}")
    browser.until("document.getElementById('cell').open")
    browser.until("document.getElementById('cells').classList.contains('shown')")
    browser.run("document.getElementById('cell').close()")
    browser.until("location.hash === '#cells'")


def test_numbers_follow_the_splits_the_convention_and_the_test_and_come_back(browser: Page, report: Path) -> None:
    browser.open(report, 1280)
    cells = "[...document.querySelectorAll('table.cells a[data-key]')].map(a => a.className + a.textContent)"
    printed = browser.run(cells)
    published = "getComputedStyle(document.querySelector('table.cells .paper')).display"
    for change in ('[name=split][value="2"]', "[name=convention][value=text]", "[name=test][value=corrected]"):
        browser.run(f"document.querySelector('{change}').click()")
        assert browser.run(cells) != printed, change
        assert (browser.run(published) == "none") == ("test" not in change)
        browser.run("document.getElementById('restore').click()")
        assert browser.run(cells) == printed
    # All as printed, but computed: the convention of the run, named.
    browser.run("document.querySelector('[name=convention][value=published]').click()")
    assert browser.run(cells) == printed


def test_the_first_screen_shows_verdicts_and_headline(browser: Page, report: Path) -> None:
    browser.open(report, 1280)
    assert browser.run("document.querySelector('.tally').getBoundingClientRect().bottom < innerHeight")
    assert browser.run("document.querySelector('.headline img').getBoundingClientRect().top < innerHeight")
    assert browser.run("document.querySelector('.tabs').getBoundingClientRect().top") == 0
