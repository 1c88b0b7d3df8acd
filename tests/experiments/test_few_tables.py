"""The table of every method with few images: the way of a cell, and cells that mean nothing."""

import small_lines
from result_lines import write

from few_tables import methods_with_few_images
from result_tables import Results
from small_searches import declared

JOBS = [job for job in declared("few") if job.seed == 1]
SKIPS = "|skip_connect~0|+|skip_connect~0|nor_conv_1x1~1|+|skip_connect~0|none~1|none~2|"


def search(job, accuracies, entropy):
    """A made-up search of as many epochs as accuracies."""
    line = small_lines.line(job, lambda _: {})
    first = line["epochs"][0]
    line["epochs"] = [
        first
        | {"epoch": number, "true_accuracy": accuracy, "arch": SKIPS, "entropy": {"normal": entropy}}
        for number, accuracy in enumerate(accuracies, start=1)
    ]
    return line


def test_a_search_has_its_way_its_least_and_its_skips(tmp_path):
    accuracies = [50.0] * 10 + [94.0] * 15 + [91.0] * 5 + [93.0] * 70
    write(tmp_path, small_searches=[search(JOBS[0], accuracies, 0.9)])
    made = methods_with_few_images(Results(tmp_path))
    assert (
        "| `default` | 1 | 50.00 | 94.00 | 91.00 | 93.00 | 93.00 | 93.00 | 91.00 | 3 of 6 | 100 s |"
        in made
    )
    assert "Not measured yet: `default` (1 of 2 seeds), `skip-dropout`, `" in made


def test_a_method_that_has_learned_nothing_before_its_end_has_no_cell_before(tmp_path):
    write(tmp_path, small_searches=[search(JOBS[0], [54.0] * 99 + [88.0], 1.0)])
    made = methods_with_few_images(Results(tmp_path))
    assert "| `default` | 1 | — | — | — | — | — | 88.00 | 88.00 | 3 of 6 |" in made
