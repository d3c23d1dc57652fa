"""The report in headless Chromium, from a file and without a network: no complaint, tables sort, nothing sticks out."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.chromium import Page, find_chromium
from support.run_folder import write_run
from test_report_page import figures

from benchmarks.report.html import build
from benchmarks.results.folder import read_results
from benchmarks.results.published import published_cells

COLUMN = "[...document.querySelectorAll('#agreement table.cells')[2].tBodies[0].rows].map(r => r.cells[{}].textContent)"
HEAD = "document.querySelectorAll('#agreement table.cells')[2].tHead.rows[0].cells[{}]"


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
    path.write_text(build(run, figures(folder / "figures"), published_cells(), ()).page, encoding="utf-8")
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
    browser.run(HEAD.format(3) + ".firstElementChild.click()")
    values = [float(text.split()[0].replace("−", "-")) for text in browser.run(COLUMN.format(3))]
    assert values == sorted(values)
    assert len(set(values)) > 10
    assert browser.run(HEAD.format(3) + ".getAttribute('aria-sort')") == "ascending"
    browser.run(HEAD.format(3) + ".firstElementChild.click()")
    values = [float(text.split()[0].replace("−", "-")) for text in browser.run(COLUMN.format(3))]
    assert values == sorted(values, reverse=True)
    browser.run(HEAD.format(0) + ".firstElementChild.click()")
    names = browser.run(COLUMN.format(0))
    assert names == sorted(names, key=str.lower)
    assert browser.run(HEAD.format(3) + ".hasAttribute('aria-sort')") is False


def test_cells_can_be_filtered_by_verdict(browser: Page, report: Path) -> None:
    browser.open(report, 1280)
    choose = "const s = document.getElementById('verdict'); s.value = 'not comparable'"
    browser.run(f"{{ {choose}; s.dispatchEvent(new Event('change')) }}")
    shown = browser.run("[...document.querySelectorAll('tr[data-verdict]:not([hidden])')].map(r => r.dataset.verdict)")
    assert set(shown) == {"not comparable"}
    assert len(shown) == 54 + 12


def test_a_number_leads_to_its_rows(browser: Page, report: Path) -> None:
    browser.open(report, 1280)
    browser.run("document.querySelector('#results td a').click()")
    browser.run("new Promise(done => setTimeout(done, 100))")
    target = browser.run("location.hash.slice(1)")
    assert target.startswith("rows-")
    assert browser.run(f"document.getElementById('{target}').open") is True


def test_the_first_screen_shows_verdicts_and_headline(browser: Page, report: Path) -> None:
    browser.open(report, 1280)
    assert browser.run("document.querySelector('.tally').getBoundingClientRect().bottom < innerHeight")
    assert browser.run("document.querySelector('.headline img').getBoundingClientRect().top < innerHeight")
