"""The page in a real Chromium: its width, its colours, its console. Skipped with the reason where there is none."""

import html
import json
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from runner.paths import STUDIES
from runner.report.writers import page
from runner.study import file as study
from tests import made_everything, made_report
from tests import made_rows as made
from workloads.spec.cell import parse

pytestmark = pytest.mark.browser
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# a frame of the width asked for that holds the page, and a script beside it that looks at it: the page allows none
LOOK = """<!DOCTYPE html><iframe id=f style="width:%dpx;height:900px;border:0" srcdoc="%s"></iframe><script>
const sorted = d => {
  const table = [...d.querySelectorAll('table')].find(x => x.querySelectorAll('tbody tr:not(.group)').length > 1);
  const read = () => [...table.querySelectorAll('tbody tr:not(.group) > :first-child')].map(x => x.textContent);
  const click = () => { table.querySelector('thead th').click(); return read(); };
  return table ? [read(), click(), click()] : [];
};
f.onload = () => {
  const d = f.contentDocument, e = d.documentElement, s = f.contentWindow.getComputedStyle(d.body);
  const outside = [...d.querySelectorAll('body *')].filter(
    x => !x.closest('.wide') && !x.closest('.skip') && x.getBoundingClientRect().right > e.clientWidth + 1);
  const box = x => x.getBoundingClientRect();
  outside.push(...[...d.querySelectorAll('th, td')].filter(x => x.scrollWidth > x.clientWidth + 1),
    ...[...d.querySelectorAll('svg text')].filter(x => box(x).width && (
      box(x).right > box(x.closest('svg')).right + 1 || box(x).left < box(x.closest('svg')).left - 1)));
  document.body.innerHTML = '<pre id=seen>' + JSON.stringify({
    width: e.clientWidth, scroll: e.scrollWidth, ink: s.color, paper: s.backgroundColor,
    outside: outside.map(x => `${x.tagName} ${x.textContent.slice(0, 60)}`),
    charts: d.querySelectorAll('figure svg').length, title: d.querySelector('h1').innerText,
    focusable: d.querySelectorAll('[tabindex="0"], summary, a[href]').length, sorted: sorted(d)}) + '</pre>';
};
</script>"""


@pytest.fixture(autouse=True)
def _needs_chromium() -> None:
    if CHROMIUM is None:
        pytest.skip("no Chromium on PATH: apt-get install chromium")


def seen(text: str, folder: Path, width: int, *options: str) -> dict[str, object]:
    """What a script sees of the page at that width, and what Chromium said on its console."""
    file = folder / "look.html"
    file.write_text(LOOK % (width, html.escape(text)))
    command = [CHROMIUM or "", "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
               "--no-first-run", f"--user-data-dir={folder / 'profile'}", "--enable-logging=stderr",
               "--virtual-time-budget=10000", "--window-size=1400,1000", *options, "--dump-dom", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    found = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout)
    assert found, done.stderr
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return {**json.loads(html.unescape(found[1])), "console": console}


def study_page(name: str) -> str:
    """The report of a study all cells of which have made results."""
    planned, draw = made_report.planned(name).record(), random.Random(7)
    runs = [record for item in planned["cells"] for index in range(3)
            for record in made_everything.run(parse(item["cell"]), index, draw)]
    return page.html(made_report.reported([made.session(study=name), planned, *runs, made_report.DONE]))


@pytest.mark.parametrize("name", study.available(STUDIES))
def test_every_study_s_page_fits_a_phone_and_a_desk_and_its_console_is_silent(name: str, tmp_path: Path) -> None:
    text = study_page(name)
    for width in (360, 1200):
        found = seen(text, tmp_path, width)
        assert ([], []) == (found["console"], found["outside"])
        assert found["scroll"] == found["width"] <= width
        assert text.count("<figure>") == found["charts"]
        assert int(str(found["focusable"])) > 5


def test_the_pages_that_are_looked_at_have_charts() -> None:
    assert all("<figure>" in study_page(name) for name in ("quick", "krisilias"))


def test_a_page_of_a_stranger_s_texts_fits_and_runs_nothing(tmp_path: Path) -> None:
    found = seen(page.html(made_report.reported(made_report.evil())), tmp_path, 360)

    assert ([], []) == (found["console"], found["outside"])
    assert "<script>alert(1)</script>" in str(found["title"])


def test_a_dark_screen_gets_a_dark_page(tmp_path: Path) -> None:
    text = page.html(made_report.report_of())
    dark, light = (seen(text, tmp_path, 800, f"--blink-settings=preferredColorScheme={scheme}") for scheme in (0, 1))

    assert ("rgb(20, 23, 27)", "rgb(255, 255, 255)") == (dark["paper"], light["paper"])
    assert dark["ink"] != light["ink"]


def test_a_click_on_a_title_sorts_a_table_and_another_click_the_other_way(tmp_path: Path) -> None:
    cells = {made.cell(name, steps=20): made_report.SLOW for name in ("torch", "mxnet", "tf")}
    found = seen(page.html(made_report.report_of(cells=cells)), tmp_path, 800)

    assert [["torch", "mxnet", "tf"], ["torch", "tf", "mxnet"], ["mxnet", "tf", "torch"]] == found["sorted"]
