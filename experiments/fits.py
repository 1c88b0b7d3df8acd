"""What `xnas fit` gives within some minutes: every row of its table, and how well its time held.

    python experiments/fits.py --data-dir DIR
    python experiments/fits.py --set gpu --data-dir DIR --seconds 540

The set `cpu` has budgets of 5 and 15 minutes: digits, and folders of PNG files with 2,000 training
images of Fashion-MNIST and of CIFAR-10 and as many test images, which the script writes from --data-dir.
The set `gpu` is CIFAR-10 whole: 5 and 10 minutes with three seeds, 20 minutes once. Fits run one at a
time, on a machine without other work, as their times are measured. One that was killed is resumed by the
next call, and its line says so. `--pretrained MODEL=FILE` gives all of them a pretrained model.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from jobs import (
    Budget,
    Job,
    Record,
    ResultsFile,
    chosen,
    forget,
    lent,
    overview,
    play,
    results_file,
    script,
    shared_arguments,
    told_left,
)
from watch import ran_on
from xnas.data import ImageData, load_data
from xnas.data.parts import stratified
from xnas.runs.command_line import flags
from xnas.runs.fit.config import FitConfig
from xnas.runs.fit.fit import fit, resume_fit
from xnas.runs.fit.progress import FitProgress
from xnas.runs.results import FitResult

RESULTS = "fits.jsonl"
IMAGES = 2000
"""Of training, and as many to test, in a folder."""
FOLDERS = Path("runs/experiments/data")
FOLDER_SEED = 0
LATEST = 1.1
"""Of the minutes, which a fit may take."""


@dataclass(frozen=True, kw_only=True)
class Fit(Job):
    """One fit."""

    minutes: float
    seed: int
    set: str

    @property
    def command(self) -> str:
        """What a user would type, at the root of the repository."""
        return f"xnas fit {self.place} {flags(self.options)}"

    @property
    def place(self) -> str:
        """The name of a dataset, or a folder that the script writes."""
        return str(FOLDERS / f"{self.data}-{IMAGES}") if self.in_folder else self.data

    @property
    def in_folder(self) -> bool:
        """Whether a part of the data is written as files."""
        return self.set == "cpu" and self.data != "digits"


def _job(where: str, data: str, minutes: float, seed: int = 0) -> Fit:
    return Fit(
        name=f"{where}-{data}-{minutes:g}-{seed}",
        options={"minutes": minutes, "seed": seed},
        data=data,
        planned=60 * minutes * LATEST,
        minutes=minutes,
        seed=seed,
        set=where,
    )


SETS = {
    "cpu": [
        _job("cpu", data, minutes)
        for minutes in (5, 15)
        for data in ("digits", "fashion_mnist", "cifar10")
    ],
    "gpu": [
        *(_job("gpu", "cifar10", minutes, seed) for minutes in (5, 10) for seed in (0, 1, 2)),
        _job("gpu", "cifar10", 20),
    ],
}
TINY = [_job("tiny", "digits", 1)]


def write_folder(folder: Path, data: str, data_dir: Path | None) -> None:
    """Write a part of a dataset as PNG files, unless it is there: train/CLASS and test/CLASS."""
    from PIL import Image  # noqa: PLC0415 - for folders alone

    if folder.exists():
        return
    images = load_data(data, FitConfig(data_dir=data_dir))
    if not isinstance(images, ImageData) or images.test_images is None or images.test_labels is None:
        raise SystemExit(f"{data} has no test images in memory; choose another dataset")
    parts = {
        "train": (images.images, images.labels),
        "test": (images.test_images, images.test_labels),
    }
    unfinished = folder.with_name(f"{folder.name}.unfinished")
    for part, (pixels, labels) in parts.items():
        for index in stratified(labels, IMAGES, seed=FOLDER_SEED).tolist():
            name = images.classes[int(labels[index])].replace("/", " or ")
            file = unfinished / part / name / f"{index:05}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            pixel = pixels[index]
            array = pixel[0].numpy() if len(pixel) == 1 else pixel.permute(1, 2, 0).numpy()
            Image.fromarray(array).save(file)
    unfinished.rename(folder)


def run_fit(job: Fit, folder: Path, arguments: Namespace) -> FitResult:
    """Fit, or resume a fit that was killed."""
    device = "cpu" if job.set == "cpu" else arguments.device
    with FitProgress(quiet=False) as display:
        if (folder / "config.json").exists():
            return resume_fit(folder, display=display, **lent(arguments) | {"device": device})
        config = FitConfig(
            **job.options,
            out=folder,
            device=device,
            data_dir=None if job.in_folder else arguments.data_dir,
            pretrained=arguments.pretrained,
        )
        return fit(config, job.place, display=display)


def record(job: Fit, result: FitResult, *, calls: int, device: str) -> Record:
    """What the fit gave: accuracies are shares, times seconds."""
    plan, summary = result.plan, result.summary
    return {
        "job": job.name,
        "command": job.command,
        "data": job.data,
        "minutes": job.minutes,
        "seed": job.seed,
        "seconds": round(result.seconds, 1),
        "calls": calls,
        "planned_seconds": round(plan.seconds, 1),
        "threads": plan.threads,
        "stages": {stage: round(seconds, 1) for stage, seconds in summary.cost.stages.items()},
        "space": plan.search.space if plan.search else None,
        "decisions": [asdict(one) for one in plan.decisions],
        "settled": [asdict(one) for one in plan.settled],
        "rows": [asdict(row) for row in summary.rows],
        "missing": summary.missing,
        "comparison": asdict(summary.comparison),
        "gain": None if summary.gain is None else asdict(summary.gain),
        "validation_images": summary.images,
        "winner": result.winner.name,
        "test_accuracy": result.test_accuracy,
        "test_images": None if summary.test is None else summary.test.images,
        **ran_on(device),
    }


def _arguments(words: Sequence[str]) -> Namespace:
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    shared_arguments(parser, RESULTS)
    parser.add_argument("--set", choices=SETS, default="cpu", help="which fits")
    parser.add_argument("--pretrained", help="MODEL=FILE of timm, for all of them")
    return parser.parse_args(words)


def main(given: Sequence[str] | None = None) -> int:
    """Run what is left, or list it; 0 when nothing is left, 3 otherwise."""
    arguments = _arguments(list(sys.argv[1:] if given is None else given))
    results: ResultsFile = results_file(arguments, RESULTS)
    jobs = chosen(TINY if arguments.tiny else SETS[arguments.set], arguments.only)
    if arguments.list:
        print(overview(jobs, results))
        return 0

    def run(job: Fit) -> Record:
        folder = arguments.runs / job.folder_name
        calls = 2 if (folder / "config.json").exists() else 1
        if job.in_folder:
            write_folder(Path(job.place), job.data, arguments.data_dir)
        print(f"[{job.name}] {job.command}", flush=True)
        result = run_fit(job, folder, arguments)
        device = "cpu" if job.set == "cpu" else arguments.device
        print(f"[{job.name}] {result.seconds:.0f} s, {result!r}", flush=True)
        return record(job, result, calls=calls, device=device)

    def clear(job: Fit) -> None:
        if not arguments.keep:
            forget(arguments.runs / job.folder_name)

    left = play(jobs, results, Budget(arguments.seconds), run, clear)
    print(told_left(left, jobs))
    return 3 if left else 0


if __name__ == "__main__":
    script(main)
