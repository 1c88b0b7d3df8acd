"""Cost of a training step with its augmentation: plain, captured and compiled.

A captured step computes on the project's kernels, except in the cases that say otherwise.
Every case runs in a process of its own. Images are noise, as the time of a step does not depend on them.
Times of one machine compare only within one run, so the table has ratios.
"""

from __future__ import annotations

import multiprocessing
import time
from functools import partial

import torch

from xnas.bench.measuring import median_and_spread, milliseconds, noise
from xnas.bench.options import BenchTrainConfig
from xnas.engine.train import captured_step, train_step
from xnas.nn.operations import fuse
from xnas.process.advance import Advance, unwatched
from xnas.process.devices import pick_device, repeatable, synchronize
from xnas.process.memory import peak_of_process, reset_peak
from xnas.records import TrainStepCost
from xnas.runs.backends import is_captured
from xnas.runs.cells import architecture_of
from xnas.runs.prepare_training import prepare_training
from xnas.runs.train_config import TrainConfig

WITHOUT_KERNELS = "captured, bf16, no kernels"  # PyTorch's convolutions, for comparison
CASES: dict[str, dict[str, object]] = {
    "plain, fp32": {"backend": "reference", "precision": "fp32"},
    "plain, bf16": {"backend": "reference", "precision": "bf16"},
    "captured, fp32": {"backend": "fused", "precision": "fp32"},
    "captured, bf16": {"backend": "fused", "precision": "bf16"},
    WITHOUT_KERNELS: {"backend": "fused", "precision": "bf16"},
    "captured, bf16, compiled": {"backend": "fused", "precision": "bf16", "compile": True},
}
ON_CPU = ("plain, fp32", "plain, bf16")


def bench_train(config: BenchTrainConfig, *, advance: Advance = unwatched) -> list[TrainStepCost]:
    """Time the cases one after another; on a CPU the plain ones."""
    spawn = multiprocessing.get_context("spawn")
    cases = CASES if pick_device(config.device).type == "cuda" else ON_CPU
    costs: list[TrainStepCost] = []
    for case in cases:
        with spawn.Pool(1) as pool:
            costs.append(pool.apply(measure_case, (case, config)))
        advance(len(costs), len(cases))
    return costs


def training_of(config: BenchTrainConfig, case: str) -> TrainConfig:
    """The training whose steps are timed."""
    return TrainConfig(
        cell=config.cell,
        channels=config.channels,
        cells=config.cells,
        batch_size=config.batch_size,
        recipe=config.recipe,
        epochs=100,
        device=config.device,
        **CASES[case],  # type: ignore[arg-type]
    )


def measure_case(case: str, config: BenchTrainConfig) -> TrainStepCost:
    """Build a training and time its steps. Runs in its own process."""
    with repeatable(pick_device(config.device)):
        return _measured(case, config)


def _measured(case: str, config: BenchTrainConfig) -> TrainStepCost:
    before = peak_of_process()
    chosen = training_of(config, case)
    images = config.batch_size * (config.steps + 8)  # an epoch of all steps
    prepared = prepare_training(chosen, noise(images, config.image_size), architecture_of(config.cell))
    training = prepared.training
    if case == WITHOUT_KERNELS:
        fuse(training.model, on=False)
    device = training.batch[0].device
    cuda = device.type == "cuda"
    started = time.perf_counter()
    training.begin_epoch()
    captured = is_captured(training, prepared.config.backend)
    step = captured_step(training) if captured else partial(train_step, training)
    for _ in range(3):
        step()
    synchronize(device)
    preparation = time.perf_counter() - started
    reset_peak(device)
    middle, spread = median_and_spread([milliseconds(step, device) for _ in range(config.steps)])
    return TrainStepCost(
        case=case,
        device=torch.cuda.get_device_name(device) if cuda else "CPU",
        milliseconds=middle,
        spread=spread,
        memory_bytes=torch.cuda.max_memory_reserved(device) if cuda else peak_of_process() - before,
        preparation=preparation,
    )
