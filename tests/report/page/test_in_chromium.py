"""Pages in a real browser: nothing is logged, the slider moves the graph, every screen has room."""

from itertools import pairwise

import pages
import pytest
from browser import ARROW_LEFT, HOME, MISSING, TAB, browser, installed

from xnas.runs.reports.write import write_report

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not installed(), reason=MISSING)]

EVIL = '</script><img src=x onerror="document.title=1">'
WIDE = "return document.documentElement.scrollWidth > document.documentElement.clientWidth"
LINES = """return [...document.querySelectorAll('.cell')[0].querySelectorAll('g.edge')].map((mark) => {
  const line = mark.querySelector('.line');
  return [mark.dataset.edge, line.getAttribute('stroke'), line.getAttribute('stroke-width')].join(' ');
})"""


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def search_page(tmp_path_factory):
    return write_report(pages.search_run(tmp_path_factory.mktemp("runs") / "search", 5))


@pytest.fixture(scope="module")
def train_page(tmp_path_factory):
    return write_report(pages.train_run(tmp_path_factory.mktemp("runs") / "train", classes=(EVIL, "b")))


@pytest.fixture(scope="module")
def sample_page(tmp_path_factory):
    return write_report(pages.sample_run(tmp_path_factory.mktemp("runs") / "sample"))


@pytest.fixture(scope="module")
def killed_page(tmp_path_factory):
    """Of a search that was killed while it wrote its second epoch."""
    folder = pages.search_run(tmp_path_factory.mktemp("runs") / "killed", finished=False)
    text = (folder / "metrics.jsonl").read_text(encoding="utf8")
    (folder / "metrics.jsonl").write_text(text[: len(text) // 2], encoding="utf8")
    return write_report(folder)


PAGES = ["search_page", "train_page", "sample_page", "killed_page"]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("size", [(1280, 900), (360, 740)])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_logged_and_nothing_overflows(tab, request, name, size, dark):
    tab.open(request.getfixturevalue(name), width=size[0], height=size[1], dark=dark)
    assert tab.complaints() == []
    assert not tab.run(WIDE)
    charts, drawn = tab.run(
        "return [document.querySelectorAll('[data-chart]').length,"
        " document.querySelectorAll('[data-chart] .drawing svg').length]"
    )
    assert charts == drawn > 0


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", PAGES)
def test_text_has_contrast_on_both_grounds(tab, request, name, dark):
    tab.open(request.getfixturevalue(name), dark=dark)
    ink, ground = tab.run(
        "const style = getComputedStyle(document.body); return [style.color, style.backgroundColor]"
    )
    assert contrast(ink, ground) >= 7  # WCAG's AAA
    soft = tab.run("return getComputedStyle(document.querySelector('.fact dt, figcaption')).color")
    assert contrast(soft, ground) >= 4.5  # AA


def test_the_slider_moves_the_graph_by_keyboard(tab, search_page):
    tab.open(search_page)
    last = tab.run(LINES)
    tab.run("document.getElementById('epoch').focus()")
    tab.press(HOME)
    first = tab.run(LINES)
    assert first != last
    assert tab.run("return document.getElementById('moment').textContent").startswith("after epoch 1")
    tab.press("\ue014")  # the right arrow
    assert tab.run(LINES) != first
    text = tab.run("return document.getElementById('moment').textContent")
    assert text == "after epoch 2: 195 of 196 experts alive, 1 wiped out in it"
    assert tab.run("return document.getElementById('epoch').getAttribute('aria-valuetext')") == text
    tab.press(ARROW_LEFT)
    assert tab.run(LINES) == first


def test_playing_runs_through_all_epochs(tab, search_page):
    tab.open(search_page)
    tab.run("document.getElementById('play').click()")
    assert tab.run("return document.getElementById('play').textContent") == "Pause"
    tab.wait("return document.getElementById('play').textContent === 'Play'")
    assert tab.run("return document.getElementById('epoch').value") == "4"


def test_the_reason_of_an_edge_is_read_by_keyboard_and_pointer(tab, search_page):
    tab.open(search_page)
    tab.run("document.getElementById('epoch').focus()")
    seen = set()
    for _ in range(4):  # the graph itself, and its first edges
        tab.press(TAB)
        seen.add(tab.run("return document.getElementById('reason').textContent"))
    assert any("is the strongest operation here" in text for text in seen)
    spoken = tab.run("return document.activeElement.getAttribute('aria-label')")
    assert "normal cell, in 1 to 2" in spoken or "strongest operation here" in spoken
    tab.run(
        "document.querySelectorAll('.cell')[1].querySelector('g.edge')"
        ".dispatchEvent(new MouseEvent('mouseenter'))"
    )
    text = tab.run("return document.getElementById('reason').textContent")
    assert text.startswith("reduction cell, ")


def test_a_wiped_expert_is_named_with_its_round(tab, search_page):
    tab.open(search_page)
    tab.run("document.querySelector('.cell .strip').dispatchEvent(new MouseEvent('mouseenter'))")
    text = tab.run("return document.getElementById('reason').textContent")
    assert f"Wiped out: {pages.SPACE.operations[6]} (epoch 2, round 35)." in text


def test_numbers_of_a_chart_are_a_table(tab, search_page):
    tab.open(search_page)
    tab.run("document.querySelector('#chart-accuracy .numbers').open = true")
    tab.wait("return document.querySelector('#chart-accuracy table') !== null")
    head, first = tab.run(
        "const rows = document.querySelectorAll('#chart-accuracy tr');"
        "return [0, 1].map((at) => [...rows[at].cells].map((cell) => cell.textContent))"
    )
    assert head == ["epoch", "training", "validation"]
    assert first == ["1", "20", "10"]


def test_the_command_is_copied(tab, search_page):
    tab.open(search_page)
    tab.run("document.querySelector('.copy').click()")
    tab.wait("return document.querySelector('.copy').textContent === 'Copied'")


def test_names_of_classes_stay_text(tab, train_page):
    tab.open(train_page)
    assert tab.run("return document.title") == "A network for digits"
    assert tab.run("return document.querySelectorAll('img[src=x]').length") == 0
    assert tab.run("return document.body.textContent.includes('</script><img src=x')")


def test_a_killed_run_says_so_and_shows_its_first_epoch(tab, killed_page):
    tab.open(killed_page)
    assert tab.run("return document.querySelector('.state').textContent") == "stopped"
    assert "--resume" in tab.run("return document.querySelector('.command code').textContent")


def test_a_page_without_the_script_of_charts_has_tables(tab, tmp_path, monkeypatch):
    monkeypatch.setattr("xnas.runs.reports.write.chart_script", lambda: None)
    tab.open(write_report(pages.search_run(tmp_path / "run")))
    assert tab.complaints() == []
    assert tab.run("return document.querySelectorAll('.numbers[open] table').length") >= 7


def test_headings_are_in_order_and_landmarks_are_there(tab, search_page):
    tab.open(search_page)
    levels = tab.run(
        "return [...document.querySelectorAll('h1, h2, h3')].map((h) => Number(h.tagName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))
    for landmark in ("header", "nav", "main", "footer"):
        assert tab.run(f"return document.querySelectorAll('{landmark}').length") == 1


def test_a_page_is_printed_whole(tab, search_page):
    tab.open(search_page)
    assert tab.printed().count(b"/Type /Page\n") + tab.printed().count(b"/Type /Page ") >= 2


def contrast(one, other):
    """Of two colours `rgb(r, g, b)`, as WCAG 2 defines it."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour):
    levels = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in levels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
