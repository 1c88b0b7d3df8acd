"""What the documents show is true: commands and code run, links lead somewhere, numbers are real."""

import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import darts_cells
import nasbench201
import pytest
from commands import call
from test_layering import LAYERS

from xnas.cli.sample_description import part_record
from xnas.paper.options import ReproduceConfig
from xnas.paper.reproduce import reproduce
from xnas.runs.sampling.pools import POOLS
from xnas.runs.sampling.sample_job import EVALUATORS
from xnas.samplers import SAMPLERS
from xnas.space import ENCODINGS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf8")
PAGES = {path.stem: path.read_text("utf-8") for path in (ROOT / "docs").glob("*.md")}
SAMPLING = PAGES["sampling"]
GUIDES = "".join(PAGES[name] for name in ("guide", "data", "networks", "benchmarks", "reproducing"))
SHOWN = README + GUIDES
DOCUMENTS = ROOT / "docs" / "README.md"
CODE_RUN_ELSEWHERE = {
    "loggers": "tests/test_loggers.py has the packages that it needs",
    "report": "needs a run of its own; tests/runs/reports writes pages and figures",
}


def blocks(language, text=SHOWN):
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def sessions():
    """Commands of the console blocks with the output that is shown for them; but README's are slow."""
    for name, text in (("", README), *sorted(PAGES.items())):
        marks = [pytest.mark.slow] * bool(name)
        for block in blocks("console", text):
            for part in block.split("$ ")[1:]:
                command, _, output = part.partition("\n")
                yield pytest.param((name, command, output), id=command, marks=marks)


def codes():
    """Code of the documents; but README's is slow."""
    found = [pytest.param(code, id="README") for code in blocks("python", README)]
    return found + [
        pytest.param(code, marks=pytest.mark.slow, id=name)
        for name, text in PAGES.items()
        if name not in CODE_RUN_ELSEWHERE
        for code in blocks("python", text)
    ]


def mentions():
    """Commands that stand in a sentence, apart from those with a placeholder such as RUN."""
    found = re.findall(r"`(xnas [a-z][^`]+)`", SHOWN)
    complete = {command for command in found if not re.search(r"\b[A-Z]{3,}\b", command)}
    return sorted(complete - NAMES)


def run(command, folder):
    """Exit status and output of a script, run with this environment's Python in `folder`."""
    _, *arguments = shlex.split(command)
    arguments = [str(ROOT / a) if a.startswith("examples/") else a for a in arguments]
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def without_times(text):
    return re.sub(r"in +[\d.]+ s", "in # s", text)


def without_numbers(text):
    """Lines without what another processor, version of torch or load of a machine changes."""
    text = re.sub(r"\d[\d.,]*(e[+-]\d+)?", "#", text)
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """One folder for all sessions of a page: later commands use what earlier ones made."""
    return {name: tmp_path_factory.mktemp(name or "readme") for name in ("", *PAGES)}


@pytest.mark.parametrize("session", [*sessions()])
def test_commands_run_and_print_what_the_documents_show(session, folders, monkeypatch, capsys):
    page, command, output = session
    monkeypatch.chdir(folders[page])
    program, *arguments = command.split()
    is_xnas = program == "xnas"
    status, out, err = call(capsys, *arguments) if is_xnas else run(command, folders[page])
    assert status == 0, err
    stable = without_numbers if page in {"", "tutorial"} else without_times
    for line in stable(output).splitlines():
        assert line in stable(out)


def test_the_lines_of_a_program_that_the_tutorial_shows_are_those_of_the_example():
    (shown,) = blocks("py", PAGES["tutorial"])
    program = (ROOT / "examples" / "deploy_onnx.py").read_text("utf-8").splitlines()
    assert [line for line in shown.splitlines() if line not in program] == []


SLOW = ("xnas bench", "xnas reproduce entropy")  # beginnings of commands
NAMES = {  # of commands that need arguments, or take long without any
    *("xnas fit", "xnas search", "xnas sample", "xnas train", "xnas evaluate", "xnas export"),
    *("xnas report", "xnas compare", "xnas reproduce"),
}


@pytest.mark.parametrize(
    "command", [pytest.param(m, marks=[pytest.mark.slow] * m.startswith(SLOW)) for m in mentions()]
)
def test_commands_in_sentences_run(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    status, _, err = call(capsys, *command.split()[1:])
    assert status == 0, err


@pytest.mark.slow
def test_the_guide_counts_the_claims_as_a_full_run_does(tmp_path):
    claims = reproduce((), ReproduceConfig(out=tmp_path / "all"), lambda _: None)
    count = Counter(claim.verdict for claim in claims)
    stated = re.search(
        r"Of (\d+) claims (\d+) hold, (\d+) hold in part and (\d+) do not", " ".join(SHOWN.split())
    )
    assert [int(n) for n in stated.groups()] == [
        len(claims),
        count["holds"],
        count["holds in part"],
        count["does not hold"],
    ]


def test_the_documents_have_commands_and_code_to_run():
    assert len(mentions()) >= 1
    assert len([*sessions()]) >= 2
    assert len(blocks("python")) >= 2


@pytest.fixture(scope="module")
def with_benchmarks(tmp_path_factory):
    """A folder with the files of benchmarks that the guide reads."""
    folder = tmp_path_factory.mktemp("benchmarks")
    nasbench201.write_table(folder / "nasbench201.csv", nasbench201.rows())
    darts_cells.write_cells(folder / "cells.csv", darts_cells.rows(100))
    return folder


@pytest.mark.parametrize("code", codes())
def test_code_of_the_documents_runs(code, with_benchmarks):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=with_benchmarks,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for shown in re.findall(r"print\(.*#\s+(tensor\(.*?\))", code):
        assert shown in done.stdout


def test_the_page_on_sampling_names_every_sampler_evaluator_and_pool():
    for name in (*SAMPLERS, *EVALUATORS, *POOLS, *ENCODINGS):
        assert f"`{name}`" in SAMPLING, name


def test_the_page_on_sampling_has_all_settings_of_every_sampler():
    rows = re.findall(r"^\| `(\w+)` \|.*\| ([^|]*)\|$", SAMPLING, flags=re.MULTILINE)
    shown = {name: re.findall(r"`(\w+)`", last) for name, last in rows if name in SAMPLERS}
    for row in part_record()["samplers"]:
        named = shown[row["name"]]
        settings = shown[named[0]] if named and named[0] in SAMPLERS else named  # "as `tpe`"
        assert sorted(settings) == sorted(row["settings"]), row["name"]


@pytest.mark.parametrize("page", ["README.md", "docs/limits.md", "docs/choosing.md"])
def test_measured_numbers_stand_in_the_results(page):
    text = re.sub(r"Python 3\.\d+|arxiv\.org\S+|`[^`]*`", "", without_code(ROOT / page))
    known = PAGES["results"] + PAGES["performance"] + PAGES["sampling"]
    numbers = re.findall(r"(?<![\w.])[-+]?\d+\.\d+(?:e\d+)?(?![\w.]*\w)", text)
    assert numbers
    assert [number for number in numbers if number not in known] == []


def test_the_two_commands_of_the_readme_are_targets_of_make():
    makefile = (ROOT / "Makefile").read_text(encoding="utf8")
    for target in re.findall(r"^    make ([\w-]+)", README, flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def documents():
    return [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]


def without_code(path):
    return re.sub(r"^```.*?^```", "", path.read_text(encoding="utf8"), flags=re.DOTALL | re.MULTILINE)


def anchors(path):
    """Anchors of a page's headings, as GitHub and the site make them."""
    found = []
    for heading in re.findall(r"^#+ (.+)$", without_code(path), flags=re.MULTILINE):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
        again = found.count(slug)
        found.append(f"{slug}-{again}" if again else slug)
    return found


@pytest.mark.parametrize("path", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_links_between_documents_lead_to_a_file_and_an_anchor_in_it(path):
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(path)):
        name, _, anchor = target.partition("#")
        if "://" in target:
            continue
        linked = path.parent / name if name else path
        assert linked.exists(), f"{path.name} links to {target}"
        if anchor:
            assert anchor in anchors(linked), f"{path.name} links to {target}"


def test_the_list_of_documents_has_each_once():
    listed = re.findall(r"^- \[[^\]]+\]\(([^)]+)\)", DOCUMENTS.read_text("utf-8"), flags=re.MULTILINE)
    pages = [path for path in documents() if path not in {ROOT / "README.md", DOCUMENTS}]
    assert sorted({*listed} - {"../experiments/README.md"}) == sorted(
        os.path.relpath(path, ROOT / "docs") for path in pages
    )


def test_ci_runs_make_test_and_nothing_else():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf8")
    assert [line for line in script.splitlines() if line and not line.startswith(("#", "set"))] == [
        "make test"
    ]


def test_the_architecture_lists_every_layer_in_the_order_of_imports():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf8")
    cells = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", text, flags=re.MULTILINE)
    assert re.findall(r"`(\w+)`", ", ".join(cells)) == LAYERS
    for path in re.findall(r"src/xnas/[\w/]+(?:\.py)?", text):
        assert (ROOT / path).exists(), f"architecture.md names {path}"
