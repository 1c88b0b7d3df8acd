"""docs/results.md and docs/search-claims.md are what their script writes from results/."""

import json
import re
from pathlib import Path
from statistics import mean, stdev

import pytest
from result_lines import as_data, search, training, write

import cell_tables
import compare_cells
import exactness
import judged_search_tables
import limited_searches
import own_row
import quick_accuracy
import search_claims
import search_tables
import searches
import write_results
from jobs import ResultsFile
from judged_searches import INPUTS
from small_search import SCRIPT
from write_results import Results, document
from xnas.space import zoo_cell

ROOT = Path(__file__).parent.parent
WRITTEN = [ROOT / "docs/results.md", ROOT / "docs/search-claims.md", own_row.PATH]


def texts(*names):
    """Documents without their line breaks."""
    return [" ".join((ROOT / name).read_text(encoding="utf8").split()) for name in names]


def test_the_document_is_what_its_script_writes():
    told = (ROOT / "docs" / "results.md").read_text(encoding="utf8")
    assert told == document(told, Results(ROOT / "results")), "run experiments/write_results.py"


def test_the_tables_of_the_page_on_sampling_are_what_the_script_writes():
    told = (ROOT / "docs" / "sampling.md").read_text(encoding="utf8")
    assert told == document(told, Results(ROOT / "results")), "run experiments/write_results.py"
    assert re.findall(r"<!-- table: ([\w-]+) -->", told) == list(write_results.OF_SAMPLING)


def test_the_page_of_claims_is_what_its_script_writes():
    told = (ROOT / "docs" / "search-claims.md").read_text(encoding="utf8")
    assert told == search_claims.page(Results(ROOT / "results")), "run experiments/write_results.py"


@pytest.mark.evidence
def test_pictures_found_cells_and_our_row_are_what_the_script_writes():
    assert write_results.main(["--check"]) == 0, "run experiments/write_results.py"


def test_the_document_has_every_table():
    told = (ROOT / "docs" / "results.md").read_text(encoding="utf8")
    assert re.findall(r"<!-- table: ([\w-]+) -->", told) == list(write_results.TABLES)


def test_a_line_has_a_command_versions_and_no_place_of_a_machine():
    pages = {"report_cost.jsonl"}  # what a page costs, whichever data the run has
    for path in sorted(p for p in (ROOT / "results").glob("*.jsonl") if p.name not in pages):
        for number, text in enumerate(path.read_text(encoding="utf8").splitlines(), start=1):
            line, where = json.loads(text), f"{path.name}:{number}"
            programs = ("train", "search", "sample", "fit", "bench methods")
            scripts = (exactness.COMMAND, SCRIPT, limited_searches.SCRIPT)
            commands = (*(f"xnas {name} " for name in programs), *scripts)
            assert line["command"].startswith(commands), where
            assert {"job", "device", "torch", "xnas", "seed"} <= line.keys(), where
            assert line["data"] != "digits" or path.stem == "fits", f"{where} is of a rehearsal"
            assert not re.search(r'["\s]/\w', text), f"{where} has an absolute path"


def test_the_table_of_errors_has_what_was_measured():
    told = (ROOT / "docs" / "performance.md").read_text(encoding="utf8")
    for text in (ROOT / "results" / "exactness.jsonl").read_text(encoding="utf8").splitlines():
        line = json.loads(text)
        exact = ", ".join(f"{error:.0e}".replace("e-0", "e-") for error in line["fused_fp32"].values())
        rounded = [
            ", ".join(f"{error:.3f}" for error in line[name].values())
            for name in ("plain_bf16", "fused_bf16")
        ]
        size = f"{line['height']} x {line['width']}"
        pairs = f"{line['pairs_agreeing']:,} of {line['pairs']:,}"
        row = [f"{line['seed']}, {size}", str(line["experts"]), exact, *rounded, pairs]
        assert f"| {' | '.join(row)} |\n" in told


def test_limits_and_readme_have_the_true_accuracies():
    told, summary, readme = texts("docs/limits.md", "docs/results.md", "README.md")
    results = Results(ROOT / "results")
    ends = {job.name: results.of(job)["epochs"][-1]["truth"] for job in searches.SETS["full"]}
    default, faithful, darts = (
        [end["test_200"] for name, end in ends.items() if f"-{variant}-" in name]
        for variant in ("default", "faithful", "darts")
    )
    ranks = sorted(end["rank"] for name, end in ends.items() if "-default-" in name)
    for text in (told, summary, readme):
        assert f"cells of {min(default):.2f} to {max(default):.2f} %" in text
    assert f"ranks {', '.join(map(str, ranks[:-1]))} and {ranks[-1]} of 15,625" in told
    assert f"found {faithful[0]:.2f} and {faithful[1]:.2f} %" in told
    assert f"protocol {faithful[0]:.2f} and {faithful[1]:.2f} %" in summary
    for text in (told, summary):
        assert f"{darts[0]:.2f} % twice" in text
    assert f"{darts[0]:.2f}" == f"{darts[1]:.2f}"


def test_limits_and_readme_have_the_accuracies_of_trained_cells():
    told, summary, readme = texts("docs/limits.md", "docs/results.md", "README.md")
    results = Results(ROOT / "results")

    def reached(*names):
        cells = [cell for cell in compare_cells.CELLS if cell.name.startswith(names)]
        found = cell_tables.accuracies(results, cells).values()
        return f"{mean(mean(by_seed.values()) for by_seed in found):.2f}"

    for text in (told, summary):
        assert f"default searches reach {reached('darts-default-')} %" in text
        assert f"four random cells {reached('random_')} %" in text
    points = re.search(
        r"([+-]\S+ points) .*?(95 % interval \S+ to [^;]+);", cell_tables.comparison(results)
    )
    assert points is not None
    assert all(f"{points[1]}, {points[2]}." in text for text in (told, summary, readme))
    assert f"Without skip dropout it was {reached('darts-no-skip-dropout-')} (one cell)" in told
    assert f"with the paper's protocol {reached('darts-faithful-')} (one cell)" in told
    assert f"of XNAS reaches {reached('xnas')}" in told
    assert f"second-order cell of DARTS {reached('darts_v2')}" in told


def judged_searches():
    """Searches of the DARTS space and of NAS-Bench-201 that were recorded."""
    results = Results(ROOT / "results")
    return [judged_search_tables.searches(results, space=space) for space in ("darts", "nasbench201")]


def listed(values):
    *most, end = [f"{value:.2f}" for value in values]
    return f"{', '.join(most)} and {end}"


def test_the_section_on_guards_has_what_the_judge_says():
    (page,) = texts("docs/results.md")
    darts, _ = judged_searches()
    four = [search for search in darts if judged_search_tables.combined(search)]
    assert [search["seed"] for search in four] == [0, 1, 2, 3]
    ends = [judged_search_tables.last(search) for search in four]
    assert f"seeds 0 to 3 are judged {listed(ends)}." in page
    drawn, shuffled = (judged_search_tables.gains(four, name) for name in ("drawn", "shuffled"))
    assert f"are {mean(drawn):.2f} points better than cells of the same operations" in page
    assert f"only {mean(shuffled):.2f} better than cells of the same shape" in page
    error = judged_search_tables.standard_error(shuffled)
    assert f"That is {mean(shuffled) / error:.1f} standard errors" in page
    beaten = [100 - search["taken_apart"]["better_than_shuffled"] for search in four]
    assert f"{min(beaten):.0f} to {max(beaten):.0f} % of the shuffled cells are better" in page
    near = sum(
        judged_search_tables.from_inputs(search, kind)
        for search in four
        for kind in ("normal", "reduction")
    )
    assert f"{near} of the {16 * len(four)} edges of the four cells" in page
    cells = json.loads((ROOT / "results" / "judged_cells.json").read_text(encoding="utf8"))
    known = {row["cell"]: row["judged"] for row in (*cells["published"], *cells["trained"])}
    default = [known[f"darts-default-{seed}"] for seed in (0, 1, 2)]
    assert f"published cell has {known['pc_darts_cifar']:.2f}," in page
    assert f"the default have {min(default):.2f} to {max(default):.2f} after 50 epochs" in page
    assert f"random cells {cells['random'][0]['mean']:.2f} on average" in page
    assert f"separable convolutions and skips have {cells['random'][2]['mean']:.2f}." in page


def test_the_section_on_guards_has_what_each_of_them_adds():
    (page,) = texts("docs/results.md")
    darts, _ = judged_searches()
    ruled = [search for search in darts if "by_edge_rule" in search]
    absent = [s["by_edge_rule"] for s in ruled if s["guards"]["expert_dropout"]]
    others = [s["by_edge_rule"] for s in ruled if not s["guards"]["expert_dropout"]]
    kept = "absence, one expert each"
    more = [rules[kept] - rules["share"] for rules in absent]
    assert f"in all {len(absent)} searches with absent experts" in page
    assert min(more) > 0
    assert f"by {mean(more):.2f} points on average" in page
    won = sum(rules[kept] > rules["share"] for rules in others)
    assert f"in {won} of {len(others)} without absent experts" in page
    near = mean(rules[INPUTS] - rules[kept] for rules in absent)
    assert f"is judged {near:.2f} points better than absence" in page
    by_name = {s["search"]: judged_search_tables.last(s) for s in darts}
    added = [
        by_name[f"short-temperature-warm-{seed}"] - by_name[f"short-plain-warm-{seed}"]
        for seed in (0, 3)
    ]
    assert f"best temperature adds {listed(added)} with the two seeds" in page
    cold = mean(s["by_edge_rule"][kept] for s in ruled if s["variant"] == "absent")
    warm = mean(by_name[f"short-absent-warm-{seed}"] for seed in range(4))
    assert f"without warm-up come to {cold:.2f} and with it to {warm:.2f} on average" in page
    paid = [s["rewards"]["normal"] for s in darts if s["variant"] == "absent"]
    first, end = (mean(sizes[place] for sizes in paid) for place in (0, -1))
    assert f"fall from {first:.3f} per round in epoch 1 to {end:.4f} in epoch 25" in page


def test_the_section_on_guards_has_what_did_not_come_out():
    (page,) = texts("docs/results.md")
    _, known = judged_searches()
    ends = {search["search"]: judged_search_tables.last(search) for search in known}

    def of(variant, seeds):
        return [ends[f"{variant}-{seed}"] for seed in seeds]

    four = of("benchmark-eighth-candidate", range(4))
    assert f"the same combination ends at {listed(four)} after 20 epochs" in page
    results = Results(ROOT / "results")
    jobs = [job for job in searches.SETS["full"] if job.variant == "default"]
    epochs = [results.of(job)["epochs"] for job in jobs]
    whole, part = (mean(e[place]["truth"]["test_200"] for e in epochs) for place in (-1, 19))
    said = f"({mean(four):.2f} on average; the default has {whole:.2f} after 50, and {part:.2f} after 20"
    assert said in page
    few = {search["search"]: search["skips"] for search in known if search["size"] == "few"}
    assert [few[f"few-eighth-warm-{seed}"] for seed in (1, 2, 3)] == [6, 6, 6]
    assert f"drifts to skips and ends at {min(of('few-eighth-candidate', (1, 2, 3))):.2f}" in page
    least = {search["search"]: search["least"]["true"] for search in known if "least" in search}

    def lowest(variant):
        return f"{min(least[f'few-{variant}-{seed}'] for seed in (1, 2, 3)):.2f}"

    assert f"stay at {lowest('temperature')} or above from epoch 20 to epoch 100" in page
    for variant in ("firm-temperature", "present-warm", "eighth-final"):
        assert f"`{variant}`: {lowest(variant)})" in page


def test_the_readme_has_means_and_spreads_of_searches_and_trainings():
    (readme,) = texts("README.md")
    results = Results(ROOT / "results")
    default = [job for job in searches.SETS["full"] if job.variant == "default"]
    truths = [results.of(job)["epochs"][-1]["truth"]["test_200"] for job in default]
    assert f"{mean(truths):.2f} ± {stdev(truths):.2f} % true accuracy" in readme
    trained = results.measured(write_results._of_setting("100 s"))
    accuracies = [100 * line["test_accuracy"] for line in trained]
    times = [line["train_seconds"] for line in trained]
    assert f"{mean(accuracies):.2f} ± {stdev(accuracies):.2f} % on CIFAR-10" in readme
    assert f"in {min(times):.0f} to {max(times):.0f} s" in readme


def test_the_search_that_was_repeated_gave_the_same():
    first = {
        (line["job"], line["command"]): line
        for line in ResultsFile(ROOT / "results" / "searches.jsonl").lines()
    }
    again = ResultsFile(ROOT / "results" / "repeated.jsonl").lines()
    assert again
    for line in again:
        before = first[line["job"], line["command"]]
        for name in ("settings", "genotype", "decided_by", "ledger", "device"):
            assert line[name] == before[name]
        for now, then in zip(line["epochs"], before["epochs"], strict=True):
            assert now.pop("cost") != then.pop("cost")
            assert now == then


def test_the_time_that_is_calculated_is_that_of_rounds_timed_alone():
    everything, half = search_tables.ROUND_ALONE
    told = (ROOT / "docs" / "performance.md").read_text(encoding="utf8")
    assert f"| all four, `fused`, bf16, captured | {everything:.1f} |" in told
    assert f"| two | {half:.1f} |" in told
    alive = [24, 24, 12, 6]  # after each epoch: the third was played with all, the last with half
    line = {"epochs": [{"experts_alive": {"normal": n}, "deleted": []} for n in alive]}
    assert search_tables.calculated_saving(line) == pytest.approx((1 - half / everything) / 4)


def tables(folder, **files):
    write(folder, **files)
    results = Results(folder)
    made = write_results.TABLES | write_results.OF_SAMPLING
    return {name: make(results) for name, make in made.items()}


def test_without_results_every_table_says_so(tmp_path):
    made = tables(tmp_path)
    assert made.pop("earlier") == "None."
    for name, text in made.items():
        assert "not measured yet" in text.lower(), name


def test_seeds_are_summed_up_as_mean_deviation_and_range(tmp_path):
    lines = [training(job, a) for job, a in zip(quick_accuracy.JOBS, (0.93, 0.94, 0.95), strict=False)]
    made = tables(tmp_path, quick=lines)
    # By hand: mean 94, deviations 1, 0, 1 over n - 1 = 2 give 1.
    assert (
        "| 100 s | 100 s | 98.5 s | 93.00 % | 94.00 ± 1.00 (93.00 to 95.00) | 3 of 3 |" in made["goals"]
    )
    assert (
        "5 cells, 40 channels, 1.23 M, batch 256 | 93.00 % | 99.00 % | 98.5 s | 2.2 s | — | 2.0 GiB"
        in (made["quick"])
    )
    assert made["quick"].count("not measured yet") == len(quick_accuracy.JOBS) - 3


def test_searches_show_their_path_rewards_and_cost(tmp_path):
    declared = {job.name: job for jobs in searches.SETS.values() for job in jobs}.values()
    made = tables(tmp_path, searches=[search(job) for job in declared])
    for name in ("first-epochs", "rewards", "full", "wipeout", "darts"):
        assert "not measured yet" not in made[name], name
    assert "| default, seed 0 | 90.01 / 80.50 | 90.02 / 80.50 |" in made["first-epochs"]
    assert (
        "`\\|a~0\\|+\\|skip_connect~0\\|c~1\\|` | 1,234 | 0.900 | 1 of 3 | 12.3 ms | 1.0 GiB |"
        in made["first-epochs"]
    )
    assert "| default, seed 0 | 3 | -0.0100, -0.0100 | +0.0100, +0.0500 |" in made["rewards"]
    assert "| darts | 2 of 2 | 90.55 ± 0.07 (90.50 to 90.60) |" in made["full"]
    # By hand: 37 epochs of 3 s and 13 of 2 s are 137 s; 37 epochs with all weights and 12 with half of
    # them are 88 % of 49; 12 epochs of 50 with rounds of 7.234 ms instead of 9.108 save 4.9 %.
    assert (
        "| relaxation-0.1, seed 1 | 0.1 | 38, 38, 38 | 12 of 24 | 88 % | 12.3 ms | 8.2 ms | 137.0 s "
        "| 1.0 GiB | 0.5 GiB | 4.9 % | 90.60 / 80.50 |"
    ) in made["wipeout"]
    assert (
        "| no-wipeout, seed 1 | no wipeout | never | 24 of 24 | 100 % | 12.3 ms | 12.3 ms | 150.0 s "
        "| 1.0 GiB | 1.0 GiB | 0.0 % | 90.60 / 80.50 |"
    ) in made["wipeout"]
    assert "| no-wipeout | 2 of 2 | 90.55 ± 0.07 (90.50 to 90.60) |" in made["wipeout"]
    assert "| 0.900, 0.900 | 38, 38, 38 | 24 of 48 | 12.3 ms | 8.2 ms |" in made["darts"]
    assert "| 80.00 %, 60.00 %, 50.00 % | 150.0 s |" in made["darts"]


def test_other_methods_show_the_last_cell_the_best_epoch_and_published_figures(tmp_path):
    sets = (*searches.SETS["rivals"], *searches.SETS["rivals-darts"], *searches.SETS["present"])
    lines = [search(job) for job in sets]
    lines[1]["epochs"][2]["truth"]["test_200"] = 94.0
    made = tables(tmp_path, searches=lines)
    assert "| gaea | 0 | 25 | 90.25 | 94.00 | 1,234 | 8.2 ms | 1.0 GiB |" in made["rivals"]
    assert "| — |" in made["rivals"].splitlines()[-1] or "(quoted) |" in made["rivals"]
    assert "| random | 0 | 50 | 93.50 ± 0.25 | 87 % | 8.2 ms | 1.0 GiB |" in made["rivals-darts"]
    assert "| present | 4 of 4 | 93.35 ± 0.13 (93.20 to 93.50) |" in made["defaults"]
    assert "Not measured yet: `temperature`, `temperature-short`. `python" in made["defaults"]


def test_readme_and_limits_have_what_the_judge_says_of_the_default():
    results = Results(ROOT / "results")
    ends = [results.of(job)["epochs"][-1]["truth"]["accuracy"] for job in searches.SETS["present"]]
    told, summary, readme = texts("docs/limits.md", "docs/results.md", "README.md")
    for text in (told, summary, readme):
        assert f"{min(ends):.2f} to {max(ends):.2f}" in text
    assert f"{mean(ends):.2f} ± {stdev(ends):.2f} %, random cells" in readme
    assert f"{mean(ends):.2f} on average" in summary


def test_methods_without_a_search_are_named_below_those_with_one(tmp_path):
    first, second, *_ = (job for job in searches.SETS["rivals"] if job.options["seed"] == 0)
    made = tables(tmp_path, searches=[search(first)])["rivals"]
    assert f"| {first.variant} | 0 |" in made
    assert f"| {second.variant} |" not in made
    assert f"Not measured yet: `{first.variant}` (1 of 2 seeds), `{second.variant}`, `" in made
    assert "measures them." in made
    assert "|" not in tables(tmp_path, searches=[])["rivals"]


def test_experts_that_leave_after_the_last_round_saved_nothing(tmp_path):
    line = search(searches.SETS["darts"][0])
    all_of_them, leaders = ({"normal": n, "reduction": n} for n in (24, 6))
    for epoch in line["epochs"]:
        epoch |= {"deleted": [], "experts_alive": all_of_them}
    line["epochs"][-1] |= {"deleted": ["normal 0 none"] * 36, "experts_alive": leaders}
    line["epochs"][-1]["entropy"] = {"normal": 0.0, "reduction": 0.0}
    assert "| 0.900, 0.900 | never | 48 of 48 |" in tables(tmp_path, searches=[line])["darts"]


def test_what_was_found_has_its_skips_and_its_depth(tmp_path):
    job = searches.SETS["darts"][0]
    line = search(job) | {"genotype": as_data(zoo_cell("xnas").genotype)}
    made = tables(tmp_path, searches=[line])
    # One skip connection in each of its cells; Table 4 of the paper has the depth.
    assert "| default, seed 0 | 1 of 8, 1 of 8 | 1.375 |" in made["darts"]


@pytest.mark.parametrize("measured", [False, True])
def test_all_rows_of_a_table_are_as_long_as_its_header(tmp_path, measured):
    declared = {job.name: job for jobs in searches.SETS.values() for job in jobs}.values()
    lines = [search(job) for job in declared if measured]
    trained = [training(job, 0.93) for job in quick_accuracy.JOBS if measured]
    for name, text in tables(tmp_path, searches=lines, quick=trained).items():
        for part in re.findall(r"(?:^\|.*\n?)+", text, flags=re.MULTILINE):
            lengths = {len(re.findall(r"(?<!\\)\|", row)) for row in part.splitlines()}
            assert len(lengths) == 1, name


def test_lines_of_earlier_settings_are_listed(tmp_path):
    line = training(quick_accuracy.JOBS[0], 0.5) | {"command": "xnas train xnas cifar10 --epochs 1"}
    made = tables(tmp_path, quick=[line])
    assert (
        "| 100s-xnas-0 | test accuracy 50.00 % in 98.5 s | `xnas train xnas cifar10 --epochs 1` |"
        in (made["earlier"])
    )
    assert made["goals"].count("not measured yet") == 6


def test_a_table_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SystemExit, match="no table called 'other'"):
        document("<!-- table: other -->\n<!-- end of table -->", Results(tmp_path))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--results", "resluts"], "there is no folder resluts; give one of results"),
        (["--results", "."], r"results of \. would replace what results/ says; give a --document in"),
        (["--results", ".", "--document", "page.md"], r"results of \. would replace what results/ says"),
        (
            ["--results", ".", "--document", "DOCS/performance.md", "--cells", "cells"],
            "would replace what results/ says; give a --document in another folder, and --cells",
        ),
        (["--document", "none.md"], r"there is no none\.md; begin with a copy of .*results\.md"),
    ],
)
def test_results_from_elsewhere_replace_nothing(tmp_path, monkeypatch, words, told):
    (tmp_path / "page.md").touch()
    monkeypatch.chdir(tmp_path)
    before = [path.read_bytes() for path in WRITTEN]
    with pytest.raises(SystemExit, match=told):
        write_results.main([word.replace("DOCS", str(ROOT / "docs")) for word in words])
    assert [path.read_bytes() for path in WRITTEN] == before
    assert [path.name for path in tmp_path.iterdir()] == ["page.md"]


def test_a_file_of_results_that_was_cut_short_is_named(tmp_path):
    (tmp_path / "page.md").touch()
    (tmp_path / "cells.jsonl").write_text('{"job": "a"', encoding="utf8")
    words = ["--results", str(tmp_path), "--document", str(tmp_path / "page.md")]
    with pytest.raises(SystemExit, match=r"cells\.jsonl ends within a line; delete the rest"):
        write_results.main([*words, "--cells", str(tmp_path / "cells")])


def test_the_check_says_whether_the_document_would_change(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text(
        "Before.\n\n<!-- table: goals -->\n<!-- end of table -->\n\nAfter.\n", encoding="utf8"
    )
    words = ["--results", str(tmp_path), "--document", str(page), "--cells", str(tmp_path / "cells")]
    assert write_results.main([*words, "--check"]) == 1
    assert write_results.main(words) == 0
    assert f"written: {page}\n" in capsys.readouterr().out
    assert write_results.main(words) == 0
    assert capsys.readouterr().out == "everything is as it would be written\n"
    assert write_results.main([*words, "--check"]) == 0
    assert page.read_text(encoding="utf8").startswith("Before.")
    assert page.read_text(encoding="utf8").endswith("After.\n")
    for path in (tmp_path / "search-claims.md", tmp_path / "found_here.json"):
        path.write_text("other", encoding="utf8")
        assert write_results.main([*words, "--check"]) == 1
        assert write_results.main(words) == 0
        assert path.read_text(encoding="utf8") != "other"


@pytest.mark.evidence
def test_made_up_results_never_reach_the_package(tmp_path):
    before = own_row.PATH.read_bytes()
    searched = [search(job) for job in searches.SETS["darts"]]
    found = compare_cells.found_genotypes(searched)
    trained = [training(job, 0.93, found.get(job.of.name)) for job in compare_cells.JOBS]
    write(tmp_path, searches=searched, cells=trained)
    page = tmp_path / "page.md"
    page.touch()
    words = ["--results", str(tmp_path), "--document", str(page), "--cells", str(tmp_path / "cells")]
    assert write_results.main(words) == 0
    assert b"searched here" in (tmp_path / own_row.PATH.name).read_bytes()
    assert own_row.PATH.read_bytes() == before
