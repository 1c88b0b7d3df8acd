import os
import subprocess

import pytest

from xnas.words import (
    alternatives,
    counted,
    cut,
    listed,
    printable,
    printable_lines,
    shell_word,
    short,
    whole,
)


def test_one_thing_has_no_plural():
    assert [counted(n, "step") for n in (0, 1, 2)] == ["0 steps", "1 step", "2 steps"]


def test_the_last_alternative_comes_after_or():
    assert [alternatives(list("abc"[:n])) for n in range(4)] == ["", "a", "a or b", "a, b or c"]


def test_all_names_are_joined_by_and():
    assert [listed(list("abc"[:n])) for n in range(4)] == ["", "a", "a and b", "a, b and c"]


def test_a_long_error_is_cut_and_stays_one_line():
    assert short(ValueError("a\n b\t c")) == "a b c"
    assert short(ValueError("x" * 300)) == "x" * 200 + "..."
    assert short(ValueError("x" * 300), 10) == "x" * 10 + "..."
    assert short(ValueError()) == "ValueError"
    assert whole(ValueError("a\n" * 300)) == " ".join("a" * 300)


def test_a_text_is_cut_between_words():
    assert cut("as it happened before the first checkpoint", 40) == "as it happened before the first..."
    assert cut("as it happened, before", 16) == "as it happened..."
    assert cut("as it happened", 14) == "as it happened"
    assert cut("in " + "x" * 30, 12) == "in xxxxxxxxx..."  # a path, say


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rosé, 玫瑰 ☂", "rosé, 玫瑰 ☂"),
        ("a\x1b[31mred", "a\\x1b[31mred"),
        ("two\nlines\r", "two\\nlines\\r"),
        ("c1\x9b31m", "c1\\x9b31m"),
        ("a\u202etxt.exe", "a\\u202etxt.exe"),  # a terminal would turn the rest around
        ("no\udcffutf8", "no\\udcffutf8"),
    ],
)
def test_what_a_terminal_would_obey_is_escaped(text, shown):
    assert printable(text) == shown
    assert printable(shown) == shown


def test_lines_stay_lines():
    assert printable_lines("a\nb\x07\n") == "a\nb\\x07\n"


@pytest.mark.parametrize(
    "name",
    [
        "plain",
        "two words",
        "it's",
        "a\nb",
        "a\x1b[31m'red'",
        "back\\slash\t",
        "c1\x9bf",
        "no\udcffutf8",
        "\u202ex",
    ],
)
def test_a_shell_reads_a_printed_word_as_what_it_was(name):
    word = shell_word(name)
    assert word.isprintable()
    told = subprocess.run(["bash", "-c", f"printf %s {word}"], capture_output=True, check=True).stdout
    assert told == os.fsencode(name)
