"""Commands that cannot be parsed are answered in one line: fault, value, what works."""

from typing import Literal

import pytest
from cyclopts import App, CycloptsError

from xnas.cli.usage_errors import usage_message

app = App(name="xnas")


@app.command
def cook(dish: str, /, *, heat: Literal["low", "high"] = "low", minutes: int = 3, precision: int = 1):
    pass


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("cok egg", "xnas has no command 'cok'; did you mean cook? there are: cook; see xnas --help"),
        ("bake egg", "xnas has no command 'bake'; there are: cook; see xnas --help"),
        (
            "cook egg --minute=3",
            "xnas cook has no option --minute; did you mean --minutes? see",
        ),
        ("cook egg --pretrained", "xnas cook has no option --pretrained; see xnas cook --help"),
        ("cook egg --heat mild", "--heat must be low or high, got 'mild'; see xnas cook --help"),
        ("cook egg --minutes few", "--minutes must be a whole number, got 'few'; see xnas cook --help"),
        ("cook egg ham", "nothing takes the argument 'ham'; leave it out, or see xnas cook --help"),
        (
            "cook egg --minutes 3 --minutes=4",
            "--minutes was given more than once; give it once; see xnas cook --help",
        ),
        ("cook", "xnas cook needs DISH; see xnas cook --help"),
        ("cook egg --minutes", "--minutes needs a value; see xnas cook --help"),
        ("cook egg --minutes --heat low", "--minutes needs a value; see xnas cook --help"),
        (
            "cook egg --minutes -1,2",
            "--minutes needs a value; '-1,2' begins with -, so write --minutes=-1,2; see xnas cook",
        ),
    ],
)
def test_the_message_names_fault_value_and_what_works(words, message):
    with pytest.raises(CycloptsError) as caught:
        app(words.split(), exit_on_error=False, print_error=False)
    assert message in usage_message(caught.value)
    assert "\n" not in usage_message(caught.value)
