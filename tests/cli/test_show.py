"""`xnas show`: the cells, their depth, where they come from, and an SVG."""

import shutil
from pathlib import Path

import pytest
from cyclopts import App

from xnas.cli.show import show, show_genotype
from xnas.errors import ConfigError, GenotypeError
from xnas.space import Genotype

SAMPLE = Path(__file__).parents[1] / "samples" / "genotype-v1.json"


@pytest.fixture
def run(capsys):
    """What the command prints for some arguments."""
    app = App(name="xnas")
    app.command(show)

    def call(*arguments):
        app(
            ["show", *map(str, arguments)],
            exit_on_error=False,
            print_error=False,
            result_action="return_none",
        )
        return capsys.readouterr().out

    return call


def test_a_genotype_file_is_shown_with_its_origin_and_depth(run):
    out = run(SAMPLE)
    assert out.startswith(f"{SAMPLE}, search space darts\n\nnormal cell ")
    assert "dil_conv_5x5(4)" in out
    assert "max_pool_3x3(0)" in out
    assert "depth of the normal cell: 1.375," in out  # XNAS's cell, Table 4
    assert max(map(len, out.splitlines()[1:])) <= 100


def test_the_run_folder_of_a_search_is_shown_by_its_genotype(run, tmp_path):
    shutil.copy(SAMPLE, tmp_path / "genotype.json")
    assert run(tmp_path).startswith(f"{tmp_path / 'genotype.json'}, search space darts\n")


def test_a_genotype_is_shown_without_a_file():
    text = show_genotype(Genotype.load(SAMPLE))
    assert text.splitlines()[0].startswith("normal cell")
    assert text.splitlines()[-1].startswith("depth of the normal cell: 1.375")


def test_svg_is_drawn_into_the_named_file(run, tmp_path):
    out = run(SAMPLE, "--svg", tmp_path / "cell.svg")
    assert out.endswith(f"drawn in {tmp_path / 'cell.svg'}\n")
    assert b"<svg" in (tmp_path / "cell.svg").read_bytes()


def test_a_genotype_is_never_overwritten_by_a_picture(run, tmp_path):
    mine = tmp_path / "cell.json"
    shutil.copy(SAMPLE, mine)
    with pytest.raises(ConfigError, match=r"--svg draws an SVG, got .*cell\.json; .*ends in \.svg"):
        run(mine, "--svg", mine)
    assert mine.read_bytes() == SAMPLE.read_bytes()


def test_a_fault_leaves_no_picture(run, tmp_path):
    (tmp_path / "cell.json").write_text(SAMPLE.read_text(encoding="utf8")[:200], encoding="utf8")
    with pytest.raises(GenotypeError, match=r"cell\.json: the genotype is not JSON .*truncated"):
        run(tmp_path / "cell.json", "--svg", tmp_path / "cell.svg")
    assert not (tmp_path / "cell.svg").exists()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nothing.json", r"cannot read the genotype .*nothing\.json: No such file or directory"),
        (".", r"no genotype\.json in .*; give a genotype, or the folder of a search that has ended"),
    ],
)
def test_what_is_no_genotype_is_named(run, tmp_path, name, words):
    with pytest.raises(GenotypeError, match=words):
        run(tmp_path / name)
