"""`xnas show`: the cells, their depth, where they come from, and an SVG."""

import shutil
from pathlib import Path

import pytest
from commands import call
from cyclopts import App

from xnas.cli.show import show
from xnas.errors import ConfigError, GenotypeError, UnknownNameError
from xnas.paper.network_sizes import CIFAR, macs, parameters
from xnas.space import list_cells

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


def test_a_published_cell_is_shown_by_name_with_what_its_networks_count(run):
    out = run("xnas")
    assert out.startswith("xnas, search space darts\n\nnormal cell ")
    assert "(XNAS 1.375, DARTS 0.625, random 1.25)" in out
    words = [line.split() for line in out.splitlines()]
    assert ["cifar", "36", "20", "108", "no", "32", "x", "32", "3,793,438", "595,543,680"] in words
    assert ["imagenet", "46", "14", "56", "yes", "224", "x", "224", "5,258,564", "568,761,264"] in words
    assert "XNAS, from github.com/NivNayman/XNAS" in out
    assert "Table 1, XNAS-Large: cifar10 1.6 %; 7.2 M parameters, 0.3 GPU days" in out
    assert out.endswith("Table 4, XNAS: depth 1.375\n")
    assert max(map(len, out.splitlines())) <= 100


def test_the_network_that_a_training_builds_by_default_is_named(run):
    out = " ".join(run("xnas").split())
    spec = CIFAR.but(channels=40, cells=5)  # of the recipe quick
    size = f"{parameters('xnas', spec):,} parameters and {macs('xnas', spec):,} MACs"
    assert f"(recipe quick): 40 channels, 5 cells, {size} for 10 classes" in out


def test_a_network_of_the_paper_is_shown_by_name(run):
    out = run("xnas_large")
    assert "recipe quick" not in out  # xnas train takes the paper's sizes for this name
    assert out.startswith("xnas_large, ")
    assert "7,174,760" in out


def test_the_zoo_is_listed(run):
    lines = run("--zoo").splitlines()
    assert lines[0].split()[:4] == ["cell", "title", "nodes", "depth"]
    assert [line.split()[0] for line in lines[1:-2]] == list_cells()
    assert " ".join(lines[-3].split()) == (
        "xnas XNAS 4 1.375 3.79 596 1.81 / 1.73 / 1.60 NivNayman/XNAS"
    )
    assert lines[-1].startswith("parameters and MACs: CIFAR network, 36 channels")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "give a cell, or --zoo to list the published ones; got neither"),
        (("xnas", "--zoo"), "give a cell, or --zoo to list the published ones; got both"),
        (("--zoo", "--svg", "x.svg"), r"--svg draws an SVG, got x\.svg; give a cell to draw"),
    ],
)
def test_a_cell_or_the_zoo_is_shown(run, arguments, words):
    with pytest.raises(ConfigError, match=words):
        run(*arguments)


def test_the_nearest_names_are_offered_for_one_that_is_not_there(run):
    with pytest.raises(
        UnknownNameError, match=r"called 'darts_v3'; did you mean darts_v2, darts_v1 or "
    ):
        run("darts_v3")


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


def test_a_residual_network_is_shown_by_its_name(capsys):
    status, out, _ = call(capsys, "show", "resnet-20")
    assert status == 0
    assert out.startswith("a residual network of 3 + 3 + 3 blocks\n")
    assert "272,474" in out
    status, _, err = call(capsys, "show", "resnet-20", "--truth", "x.csv")
    assert (status, "about cells, and resnet-20 has none" in err) == (2, True)
