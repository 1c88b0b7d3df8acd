"""Pages in a real browser: nothing is logged, the slider moves the graph, every screen has room."""

from itertools import pairwise

import comparing
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


@pytest.fixture(scope="module")
def comparison_page(tmp_path_factory):
    """Of three entries with several seeds, one run of which failed."""
    runs = [
        comparing.run(name, seed, level + seed, curve=((1, 50.0), (2, 60.0), (3, level + seed)))
        for name, level in (("xnas", 90), ("darts", 80), (EVIL, 85))
        for seed in range(4)
    ]
    means = {("digits", "darts"): 82.0}
    found = comparing.found(
        *runs, comparing.failed("darts", 4), test="exact", random_means=means, random_words="20 cells"
    )
    folder, _ = comparing.folder(tmp_path_factory.mktemp("runs") / "compared", comparison=found)
    write_report(pages.search_run(folder / "runs/xnas-0"))
    return write_report(folder)


PAGES = ["search_page", "train_page", "sample_page", "killed_page", "comparison_page"]


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


def test_a_comparison_leads_to_the_pages_of_its_runs(tab, comparison_page):
    tab.open(comparison_page)
    links = tab.run(
        "return [...document.querySelectorAll('#runs ~ .scroll a')].map((one) => one.textContent)"
    )
    assert links == ["xnas-0"]
    failed = tab.run("return document.querySelector('tr.warned').textContent")
    assert "the loss is nan" in failed
    tab.run("document.querySelector('#runs ~ .scroll a').click()")
    tab.wait("return document.title === 'A cell for digits'")


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


FOLDED = "return [...document.querySelectorAll('details:not(.numbers)')].map((one) => one.open)"
WIDER = """const room = document.body.getBoundingClientRect().right + 1;
return [...document.querySelectorAll('svg, table, code, .fact')]
  .filter((one) => one.checkVisibility() && one.getBoundingClientRect().right > room).length"""


@pytest.mark.parametrize("name", PAGES)
def test_on_paper_nothing_is_cut_off_or_folded(tab, request, name):
    tab.open(request.getfixturevalue(name))
    before = tab.run(FOLDED)
    assert not all(before)
    tab.paper()
    tab.run("window.dispatchEvent(new Event('beforeprint'))")
    assert all(tab.run(FOLDED))
    assert tab.run(WIDER) == 0
    shown = (
        "return [...document.querySelectorAll('.numbers, nav, button')].some((x) => x.checkVisibility())"
    )
    assert not tab.run(shown)
    tab.run("window.dispatchEvent(new Event('afterprint'))")
    assert tab.run(FOLDED) == before


def test_on_paper_the_footer_stands_at_the_top_as_it_might_be_alone_on_the_last_page(tab, search_page):
    where = (
        "return ['header .written', 'footer'].map((x) => document.querySelector(x).checkVisibility())"
    )
    tab.open(search_page)
    assert tab.run(where) == [False, True]
    tab.paper()
    assert tab.run(where) == [True, False]
    written = tab.run("return document.querySelector('header .written').textContent")
    assert written == tab.run("return document.querySelector('footer').textContent")


def test_a_printed_search_has_its_reasons_sizes_and_settings(tab, search_page):
    tab.open(search_page)
    words = "document.querySelectorAll('details:not(.numbers) table')"
    glyphs = tab.run(f"return [...{words}].map((one) => one.textContent.replace(/\\s/g, '').length)")
    assert len(glyphs) == 3
    assert sum(map(len, tab.printed())) > sum(glyphs) > 5000


BOXES = """const box = (one) => {
  const found = one.getBoundingClientRect();
  return [found.left, found.top, found.right, found.bottom];
};
return [...document.querySelectorAll('section.cell')].map((cell) => ({
  svg: box(cell.querySelector('svg')),
  parts: [...cell.querySelectorAll('circle, .out, .labels > g:not([visibility=hidden]) rect')].map(box),
  letters: [...cell.querySelectorAll('svg text')].map((text) => text.getBoundingClientRect().height),
}))"""


@pytest.mark.parametrize("width", [360, 390])
@pytest.mark.parametrize("name", ["search_page", "sample_page"])
def test_a_phone_shows_the_whole_cell_with_letters_that_can_be_read(tab, request, name, width):
    tab.open(request.getfixturevalue(name), width=width, height=740)
    cells = tab.run(BOXES)
    assert cells
    for cell in cells:
        assert cell["svg"][2] <= width
        assert all(0 <= left < right <= width for left, _, right, _ in cell["parts"])
        assert min(cell["letters"]) >= 8.5  # pixels of CSS, of which a phone has two or three per dot


LEGENDS = """return [...document.querySelectorAll('[data-chart] svg')].flatMap((svg) => {
  const room = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('.role-legend-label text')].map((label) => {
    const box = label.getBoundingClientRect();
    return [label.textContent, room.left <= box.left && box.right <= Math.min(room.right, innerWidth)];
  });
})"""


@pytest.mark.parametrize("width", [360, 390, 430, 500, 1280])
@pytest.mark.parametrize("name", ["search_page", "sample_page"])
def test_no_legend_is_cut_off(tab, request, name, width):
    tab.open(request.getfixturevalue(name), width=width)
    labels = tab.run(LEGENDS)
    assert [label for label, whole in labels if not whole] == []
    assert labels


def test_no_legend_is_cut_off_in_a_window_that_became_narrow(tab, search_page):
    tab.open(search_page)
    tab.resize(390)
    tab.wait(f"return (() => {{ {LEGENDS} }})().every(([, whole]) => whole)", seconds=10)


SHORT = """return [...document.querySelectorAll('section.cell')].flatMap((cell) =>
  [...cell.querySelectorAll('g.edge.kept')].map((edge) => {
    const line = edge.querySelector('.line'), from = line.getBoundingClientRect();
    const label = cell.querySelector(`[data-label="${edge.dataset.edge}"]`);
    const rect = label.querySelector('rect'), pill = rect.getBoundingClientRect();
    return { flat: from.height < 1, colour: line.getAttribute('stroke'), width: from.width,
      pill: rect.style.fill, free: pill.top > from.bottom || pill.width < 0.5 * from.width,
      name: label.textContent, ink: label.querySelector('text').style.fill };
  }))"""


def test_every_edge_shows_its_colour_beside_or_in_its_label(tab, search_page):
    tab.open(search_page)
    for key in ("", HOME):  # the last epoch, and the first
        tab.run("document.getElementById('epoch').focus()")
        tab.press(*key)
        edges = tab.run(SHORT)
        assert len(edges) == 16
        assert any(edge["flat"] for edge in edges)
        for edge in edges:
            red, green, blue = (int(edge["colour"][at : at + 2], 16) for at in (1, 3, 5))
            assert edge["pill"] == f"rgb({red}, {green}, {blue})"
            assert edge["free"], edge
            assert contrast(edge["ink"], edge["pill"]) >= 4


TICKS = """return [...document.querySelectorAll('[data-chart]')].map((figure) => [figure.dataset.x,
  [...figure.querySelectorAll('.role-axis')].map((axis) => [axis.getAttribute('aria-label') || '',
    [...axis.querySelectorAll('.role-axis-label text')].map((label) => label.textContent)])])"""


def test_axes_of_epochs_have_whole_numbers_each_once(tab, search_page):
    tab.open(search_page)
    seen = 0
    for x, axes in tab.run(TICKS):
        for label, ticks in axes:
            if x == "epoch" and label.startswith("X-axis") and ticks:
                seen += 1
                assert len(set(ticks)) == len(ticks)
                assert all(1 <= int(tick) <= 5 for tick in ticks)
    assert seen >= 7


def test_few_panels_share_the_whole_width(tab, search_page):
    tab.open(search_page)
    room, widths = tab.run(
        "const figure = document.getElementById('chart-rewards-normal'), panels = new Map();"
        "for (const one of figure.querySelectorAll('.cell .background')) {"
        " const box = one.getBoundingClientRect(); if (box.width) panels.set(box.left, box.width); }"
        "return [figure.clientWidth, [...panels.values()]]"
    )
    assert len(widths) == 2
    assert sum(widths) > 0.85 * room


@pytest.mark.parametrize("width", [1280, 390])
def test_a_command_is_not_broken_inside_a_word(tab, search_page, width):
    tab.open(search_page, width=width)
    lines = tab.run(
        "const high = parseFloat(getComputedStyle(document.querySelector('code')).lineHeight);"
        "return [...document.querySelectorAll('#this-run ~ .command code span')].map((one) =>"
        " [one.textContent, Math.round(one.getBoundingClientRect().height / high)])"
    )
    assert ["--include-none", 1] in lines or ["--no-include-none", 1] in lines
    assert all(count == 1 for word, count in lines if len(word) < 30)
    code = tab.run("return document.querySelector('#this-run ~ .command code').textContent")
    assert code == " ".join(word for word, _ in lines)


def contrast(one, other):
    """Of two colours `rgb(r, g, b)`, as WCAG 2 defines it."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour):
    levels = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in levels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
