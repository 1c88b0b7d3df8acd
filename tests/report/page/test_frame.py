"""The frame of pages: everything escaped, everything inside one file."""

import json
import re

from xnas.report.page.blocks import (
    Command,
    DataTable,
    Fact,
    Facts,
    Notice,
    Page,
    Picture,
    Pictures,
    Section,
    Text,
)
from xnas.report.page.cell_graphs import finished_graphs
from xnas.report.page.charts import line_chart
from xnas.report.page.frame import anchor, grouped, render, render_fragment, safe_json, safe_script
from xnas.report.page.stories import DrawnCell

EVIL = "</script><img src=x onerror=alert(1)>\u2028'\"&\x1b"
CHART = line_chart("loss", EVIL, EVIL, places=[1, 2], series={EVIL: [1.0, 2.0]}, x=EVIL, y=EVIL)
BLOCKS = (
    Text(EVIL),
    Notice(EVIL),
    Facts((Fact(EVIL, EVIL, EVIL),)),
    DataTable(caption=EVIL, header=(EVIL,), rows=((EVIL,),), folded=True, strong=(0,)),
    Command(EVIL, EVIL),
    Pictures(caption=EVIL, pictures=(Picture(b"\x89PNG", EVIL, EVIL),)),
    CHART,
)


def page(**changes):
    given = {"kind": "Search", "title": "A page", "summary": (Text("First."),)}
    return Page(**given | changes)


def payload(html):
    found = re.search(r'<script type="application/json" id="payload">(.*?)</script>', html, re.DOTALL)
    return json.loads(found[1])


def test_no_text_becomes_markup_wherever_it_stands():
    sections = (Section(title=EVIL, blocks=BLOCKS),)
    html = render(page(kind=EVIL, title=EVIL, subtitle=EVIL, foot=EVIL, sections=sections), script="1")
    assert "<img src=x" not in html
    assert "\x1b" not in html
    assert payload(html)["charts"]["loss"]["data"][0]["series"] == EVIL
    assert html.count("</script>") == 3  # numbers, charts, the page's own


def test_numbers_for_scripts_cannot_close_their_element():
    text = safe_json({"name": EVIL})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"name": EVIL}


def test_scripts_cannot_close_their_element_either():
    assert str(safe_script('a="</script>";b="<!--"')) == 'a="<\\/script>";b="<\\!--"'


def test_a_page_asks_for_nothing_from_elsewhere():
    html = render(page(sections=(Section(title="All", blocks=BLOCKS),)))
    addresses = re.findall(r'(?:src|href)="([^"]*)"', html)
    assert all(address.startswith(("#", "data:")) for address in addresses)
    assert "@import" not in html
    assert "url(" not in html


def test_without_a_script_charts_are_tables_that_are_open():
    sections = (Section(title="All", blocks=(CHART,)),)
    assert '<details class="numbers" open>' in render(page(sections=sections))
    drawn = render(page(sections=sections), script="draw()")
    assert '<details class="numbers">' in drawn
    assert "draw()" in drawn


def test_the_script_of_charts_is_left_out_of_a_page_without_any():
    assert "draw()" not in render(page(), script="draw()")


def test_sections_without_blocks_are_left_out():
    sections = (Section(title="Empty", blocks=()), Section(title="Full", blocks=(Text("x"),)))
    html = render(page(sections=sections))
    assert "Empty" not in html
    assert '<a href="#full">' in html


def test_a_watched_page_loads_itself_again():
    assert 'http-equiv="refresh" content="10"' in render(page(refresh=10))
    assert "http-equiv" not in render(page())


def test_charts_that_follow_each_other_stand_together():
    found = grouped((Text("a"), CHART, CHART, Text("b")))
    assert [(charts, len(group)) for charts, group in found] == [(False, 1), (True, 2), (False, 1)]


def test_headings_become_targets():
    assert anchor("Time & memory") == "time---memory"


def test_a_fragment_has_no_script_and_is_escaped():
    html = render_fragment(*BLOCKS)
    assert "<script" not in html
    assert "<img src=x" not in html
    assert "data:image/png;base64,iVBORw" in html or "data:image/png;base64,iVBO" in html


def test_words_of_a_command_stay_whole():
    html = render(page(summary=(Command("Next", "xnas train run --skip-dropout 0.5"),)))
    words = ("xnas", "train", "run", "--skip-dropout", "0.5")
    assert " ".join(f"<span>{word}</span>" for word in words) in html


def test_labels_of_edges_have_their_colour_and_letters_with_contrast():
    cell = DrawnCell(inputs=1, kinds={"normal": ((0, 1, "sep_conv_3x3"),)}, concat={"normal": (1,)})
    html = render(page(summary=(finished_graphs(cell),)))
    assert re.search(r'<rect [^>]*style="fill:#0072B2"/><text [^>]*style="fill:#ffffff">sep 3x3<', html)
    assert payload(html)["graphs"]["inks"] == {"sep_conv_3x3": "#ffffff"}
