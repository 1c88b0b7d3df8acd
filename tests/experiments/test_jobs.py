"""Borrowed time: done jobs are skipped, those that do not fit wait, lines are whole or not there."""

import json
from argparse import ArgumentTypeError
from dataclasses import dataclass, replace

import pytest

import jobs
from jobs import CUT_MARGIN, LEAST_CUT, Budget, Job, ResultsFile, Spent, chosen, overview
from xnas.errors import DatasetError
from xnas.process.interrupt import Interrupted
from xnas.runs.command_line import flags


@dataclass(frozen=True, kw_only=True)
class Task(Job):
    @property
    def command(self):
        return f"xnas do {self.data} {flags(self.options)}"


def task(name, planned=10.0, **options):
    return Task(name=name, options=options, data="digits", planned=planned)


def line(job):
    return {"job": job.name, "command": job.command}


def ignore(_):
    pass


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def budget(seconds, *, cut=False):
    clock = Clock()
    return Budget(seconds, cut=cut, started=0.0, clock=clock), clock


@pytest.fixture
def results(tmp_path):
    return ResultsFile(tmp_path / "new" / "results.jsonl")


def test_a_job_is_done_when_its_name_and_command_are_in_the_file(results):
    assert not results.has(task("a"))
    results.append(line(task("a")))
    results.append(line(task("b")))
    assert results.has(task("a"))
    assert not results.has(task("c"))
    assert not results.has(task("a", epochs=2))


def test_a_line_that_was_never_finished_does_not_count_and_makes_room(results):
    results.append(line(task("a")))
    with results.path.open("a", encoding="utf8") as file:
        file.write('{"job": "b", "comm')
    assert [r["job"] for r in results.lines()] == ["a"]
    results.append(line(task("c")))
    assert [r["job"] for r in results.lines()] == ["a", "c"]


def test_a_broken_line_is_named(results):
    results.append(line(task("a")))
    with results.path.open("a", encoding="utf8") as file:
        file.write("nonsense\n")
    with pytest.raises(SystemExit, match=r"results\.jsonl:2 is no JSON.*delete the line"):
        results.lines()


@pytest.mark.parametrize(
    ("raised", "status", "told"),
    [
        (DatasetError("no images; get some"), 2, "no images; get some\n"),
        (SystemExit("no job called 'x'"), 2, "no job called 'x'\n"),
        (SystemExit(3), 3, ""),
        (KeyboardInterrupt(), 130, "interrupted; the same command resumes\n"),
        (
            Interrupted("stopped after round 4; resume with: xnas"),
            130,
            "stopped after round 4; the same command resumes\n",
        ),
    ],
)
def test_a_script_ends_with_one_line_and_a_status(capsys, raised, status, told):
    def main():
        raise raised

    with pytest.raises(SystemExit) as end:
        jobs.script(main)
    assert end.value.code == status
    err = capsys.readouterr().err
    assert err.endswith(told)
    assert err.count("\n") == bool(told)


def test_a_script_that_ends_well_has_its_own_status(capsys):
    for status in (0, 3):
        with pytest.raises(SystemExit) as end:
            jobs.script(lambda value=status: value)
        assert end.value.code == status
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("word", ["0", "-5", "inf", "nan", "soon"])
def test_seconds_are_a_positive_number(word):
    with pytest.raises(ArgumentTypeError, match=f"positive number of seconds is wanted, got '{word}'"):
        jobs.positive_seconds(word)
    assert jobs.positive_seconds("1.5") == 1.5


@pytest.mark.parametrize("text", ['{"job": "a"}', "[]", "3"])
def test_a_line_of_no_job_is_named(results, text):
    results.append(line(task("a")))
    results.path.write_text(f"{text}\n", encoding="utf8")
    with pytest.raises(SystemExit, match=r"results\.jsonl:1 names no job and command; delete the line"):
        results.lines()


def test_a_job_begins_only_if_its_planned_time_is_left():
    time, clock = budget(100)
    assert time.allows(100 - CUT_MARGIN)
    assert not time.allows(101 - CUT_MARGIN)
    clock.now = 50
    assert not time.allows(100 - CUT_MARGIN)
    assert time.allows(50 - CUT_MARGIN)
    assert Budget(None).allows(1e9)


def test_a_job_that_will_be_cut_begins_if_enough_time_is_left():
    time, clock = budget(LEAST_CUT + CUT_MARGIN, cut=True)
    assert time.allows(1e9)
    clock.now = 1
    assert not time.allows(1e9)
    assert time.allows(LEAST_CUT - 1)


def test_jobs_that_are_done_are_skipped_and_longer_ones_wait_for_another_call(results):
    time, clock = budget(100 + CUT_MARGIN)
    ran = []

    def run(job):
        ran.append(job.name)
        clock.now += job.planned
        return line(job)

    tasks = [task("a"), task("long", 80), task("b", 60), task("c", 20)]
    results.append(line(tasks[0]))
    assert jobs.play(tasks, results, time, run, ignore) == [tasks[2]]
    assert ran == ["long", "c"]
    again, _ = budget(100)
    assert jobs.play(tasks, results, again, run, ignore) == []
    assert ran == ["long", "c", "b"]


def test_what_is_finished_is_written_before_the_next_job_begins(results):
    def run(job):
        if job.name == "bad":
            raise RuntimeError("killed")
        return line(job)

    with pytest.raises(RuntimeError, match="killed"):
        jobs.play([task("a"), task("bad"), task("c")], results, Budget(None), run, ignore)
    assert [r["job"] for r in results.lines()] == ["a"]


def test_a_job_that_was_cut_is_left_and_its_folder_stays(results):
    cleared = []
    answers = {"a": line(task("a")), "cut": None}
    left = jobs.play(
        [task("a"), task("cut")],
        results,
        Budget(None),
        lambda job: answers[job.name],
        lambda job: cleared.append(job.name),
    )
    assert [job.name for job in left] == ["cut"]
    assert cleared == ["a"]


class Fake:
    """A process that ends at its third poll, and then has written its line."""

    running = 0
    most = 0

    def __init__(self, results, job, *, fails=False):
        self.results, self.job, self.fails, self.polls = results, job, fails, 0
        Fake.running += 1
        Fake.most = max(Fake.most, Fake.running)

    def poll(self):
        self.polls += 1
        if self.polls < 3:
            return None
        if not self.fails:
            self.results.append(line(self.job))
        Fake.running -= 1
        return int(self.fails)

    def terminate(self):
        raise AssertionError("nothing is left running")

    def wait(self):
        return 0


def test_so_many_processes_run_at_once_and_no_more(results, monkeypatch):
    monkeypatch.setattr(jobs, "POLL", 0.0)
    tasks = [task(name) for name in "abcde"]
    results.append(line(tasks[1]))
    started = []

    def start(job):
        started.append(job.name)
        return Fake(results, job, fails=job.name == "d")

    left = jobs.play_at_once(tasks, results, Budget(None), start, at_once=2)
    assert started == ["a", "c", "d", "e"]
    assert Fake.most == 2
    assert [job.name for job in left] == ["d"]  # it failed, and is not tried again in this call


def test_running_processes_are_stopped_when_the_script_is(results, monkeypatch):
    stopped = []

    class Endless(Fake):
        def poll(self):
            return None

        def terminate(self):
            stopped.append(self.job.name)

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(jobs.time, "sleep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        jobs.play_at_once(
            [task("a"), task("b")], results, Budget(None), lambda job: Endless(results, job), at_once=2
        )
    assert stopped == ["a", "b"]


def test_seconds_add_up_over_calls_unless_one_was_killed(tmp_path):
    for at_once, seconds in ((7, 3.0), (3, 4.0)):
        spent = Spent(tmp_path / "run")
        spent.begin(at_once)
        spent.end(seconds)
    assert Spent(tmp_path / "run").at_once == [7, 3]
    assert (Spent(tmp_path / "run").calls, Spent(tmp_path / "run").total) == (2, 7.0)
    Spent(tmp_path / "run").begin()
    assert Spent(tmp_path / "run").total is None


def test_other_settings_have_another_run_folder():
    job = task("a job", epochs=1)
    assert job.folder_name.startswith("a-job-")
    assert job.folder_name != replace(job, options={"epochs": 2}).folder_name


def test_the_overview_says_what_is_left(results):
    results.append(line(task("a")))
    told = overview([task("a"), task("b", 30)], results).splitlines()
    assert told[0].startswith("done")
    assert told[1].startswith("left")
    assert told[2] == "1 of 2 jobs left, 30 s planned"


def test_a_job_that_is_not_there_is_refused():
    assert chosen([task("a"), task("b")], ["b"]) == [task("b")]
    with pytest.raises(SystemExit, match="no job called 'x'; there are: a, b"):
        chosen([task("a"), task("b")], ["x"])


def test_lines_are_plain_json(results):
    results.append({"job": "ζ", "command": "x"})
    assert json.loads(results.path.read_text(encoding="utf8"))["job"] == "ζ"
