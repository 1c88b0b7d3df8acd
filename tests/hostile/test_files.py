"""Hostile files by the thousand: a clear error or a sound value, in bounded time and memory.

Good samples of every kind of file that the package reads are spoiled at random (`mutations`), and read
in a process of their own (`sandbox`). `make test` tries 1,700 cases, `make test-slow` 56,500 more:

    target                fast     slow | what is spoiled
    genotypes              165   15,000 | JSON by byte and by value: depth, numbers, keys
    wirings                 40    4,000 | the same, of graphs
    architecture strings   200    5,000 | strings of NAS-Bench-201
    benchmark tables       200    6,000 | CSV by byte and by field
    images                 400   10,000 | 14 formats, bombs, PostScript, wrong endings
    image folders           60    1,500 | the same in folders, with links, pipes, odd names
    CIFAR pickles          100    3,000 | bytes, calls of os.system and the like, billion laughs
    IDX files              150    3,000 | plain and gzip, sizes that lie
    SVHN files             100    1,500 | MATLAB's format, below its compression too
    archives                50    1,500 | tar and zip: paths that lead out, links, devices, header bombs
    model cards             80    1,000 | model.json by value and byte
    model weights           40      400 | model.safetensors, header and numbers, with a digest that fits
    searches                 5      200 | config.json, metrics, checkpoints, forged ones too; links
    trainings               20      200 | the same, and the genotype
    samplings               60    4,000 | ledger.jsonl by byte and value, costs, config.json; links
    commands                30      200 | `xnas show`, `predict`, `evaluate` and others on these

A case fails if it ends in anything but an `XnasError` of bounded length or a value that is sound; if it
takes over 2 s of processor time (10 s for runs, 20 s for commands) or over 300 MiB (1,100 MiB where
images are decoded, which may have 89 million pixels, 500 MiB for runs); if a file outside its own folder
appears, goes or changes, such as the canary that pickles try to write; if the process dies or hangs.
A command must exit with 0, or with 2 and one line that a terminal can print.
"""

import pytest

from hostile.sandbox import Sandbox

FAST = {
    "genotypes": 165,
    "wirings": 40,
    "architecture strings": 200,
    "benchmark tables": 200,
    "images": 400,
    "image folders": 60,
    "CIFAR pickles": 100,
    "IDX files": 150,
    "SVHN files": 100,
    "archives": 50,
    "model cards": 80,
    "model weights": 40,
    "searches": 5,
    "trainings": 20,
    "samplings": 60,
    "commands": 30,
}
SLOW = {
    "genotypes": 15_000,
    "wirings": 4_000,
    "architecture strings": 5_000,
    "benchmark tables": 6_000,
    "images": 10_000,
    "image folders": 1_500,
    "CIFAR pickles": 3_000,
    "IDX files": 3_000,
    "SVHN files": 1_500,
    "archives": 1_500,
    "model cards": 1_000,
    "model weights": 400,
    "searches": 200,
    "trainings": 200,
    "samplings": 4_000,
    "commands": 200,
}
FIRST_SLOW = 1_000_000  # seeds that the fast cases do not have


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory):
    box = Sandbox(tmp_path_factory.mktemp("hostile"))
    yield box
    box.close()


def require_sound(report):
    print(report)  # noqa: T201 - with `pytest -s`
    assert not report.faults, "\n".join(report.faults[:10])


def test_the_cases_are_as_many_as_stated():
    assert sum(FAST.values()) == 1_700
    assert sum(SLOW.values()) == 56_500
    for target, count in FAST.items():
        assert f"{target:20} {count:5} {SLOW[target]:8,} |" in __doc__


def test_what_a_case_that_ended_the_process_left_behind_is_no_fault_of_the_next(tmp_path):
    (tmp_path / "yard" / "case").mkdir(parents=True)
    box = Sandbox(tmp_path)
    try:
        require_sound(box.run("architecture strings", 3))
    finally:
        box.close()


@pytest.mark.parametrize("target", FAST)
def test_hostile_files_are_refused_or_sound(sandbox, target):
    require_sound(sandbox.run(target, FAST[target]))


@pytest.mark.slow
@pytest.mark.parametrize("target", SLOW)
def test_many_hostile_files_are_refused_or_sound(sandbox, target):
    require_sound(sandbox.run(target, SLOW[target], first=FIRST_SLOW))
