"""How far the fused backend is from the plain one at full size, on weights that a search has learned.

For each seed a search on CIFAR-10 loses a random set of experts and plays 200 fused rounds. Then one
weight step's loss is differentiated by both backends, with uneven mixtures and identities dropped: in
float32, where they should agree as closely as the plain one does with itself in float64, and in
bfloat16, where the plain backend says how much noise there is. Rewards are also compared in pairs on an
edge: does the same expert of two win wherever the difference is clear of the noise? See README.md here.
"""

from __future__ import annotations

import copy
import json
import random
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from jobs import script
from watch import ran_on
from xnas.data import ImageData, Images, load_data
from xnas.engine import Search, captured_round, play_round
from xnas.engine.epoch import remove_experts
from xnas.engine.search import draw_batches
from xnas.kernels.language import rehearsal
from xnas.methods import ExpertAdvice
from xnas.nn import split_parameters
from xnas.process.devices import full_fp32
from xnas.runs.backends import is_captured
from xnas.runs.prepare import prepare
from xnas.runs.search_config import SearchConfig
from xnas.space.supernet import Supernet

COMMAND = "python experiments/exactness.py --data-dir DIR"
SIZES = ((32, 32), (31, 29))
CLEAR = 6.0  # deviations of the noise beyond which a difference of rewards is clear


@dataclass(frozen=True, slots=True)
class Found:
    """What one backend found: logits, gradients of weights by name, rewards by kind."""

    logits: Tensor
    gradients: dict[str, Tensor]
    rewards: dict[str, Tensor]


def measure(config: SearchConfig, images: Images, size: tuple[int, int], rounds: int) -> dict[str, Any]:
    """Errors of the fused backend against the plain one, after so many rounds."""
    search = prepare(config, _cropped(images, size)).search
    assert isinstance(search.supernet, Supernet)  # noqa: S101 - of the DARTS space
    _delete(search, _some_experts(search.supernet, config.seed))
    search.begin_epoch()
    play = captured_round(search) if is_captured(search, "fused") else partial(play_round, search)
    for _ in range(rounds):
        play()
    draw_batches(search)
    fused, plain = search.supernet, copy.deepcopy(search.supernet)
    plain.unfuse()
    fused.fuse()
    mixtures = _uneven(search)
    if search.train_batch[0].is_cuda:  # a bystander's gradients: all kernels are compiled at once
        bystander = copy.deepcopy(plain)
        bystander.fuse()
        with rehearsal():
            _differentiated(bystander, search.train_batch, mixtures)
    batch = search.train_batch[0].double(), search.train_batch[1]
    doubled = {kind: u.double() for kind, u in mixtures.items()}
    double = _differentiated(copy.deepcopy(plain).double(), batch, doubled)
    exact = _differentiated(plain, search.train_batch, mixtures)
    close = _differentiated(fused, search.train_batch, mixtures)
    noisy = _differentiated(plain, search.train_batch, mixtures, bf16=True)
    found = _differentiated(fused, search.train_batch, mixtures, bf16=True)
    agreeing, pairs = _pairs(found, noisy, exact)
    return {
        "seed": config.seed,
        "height": size[0],
        "width": size[1],
        "rounds": rounds,
        "experts": sum(int(search.method.alive(m).sum()) for m in search.mixtures.values()),
        "plain_fp32": _errors(exact, double),
        "fused_fp32": _errors(close, exact),
        "plain_bf16": _errors(noisy, exact),
        "fused_bf16": _errors(found, exact),
        "pairs": pairs,
        "pairs_agreeing": agreeing,
    }


def _cropped(images: Images, size: tuple[int, int]) -> ImageData:
    assert isinstance(images, ImageData)  # noqa: S101 - in memory
    height, width = size
    some = images.images[:, :, :height, :width].contiguous()
    return replace(images, images=some, test_images=None, test_labels=None)


def _some_experts(supernet: Supernet, seed: int) -> list[tuple[str, int, int]]:
    """Experts to delete, of every kind of cell and edge; at least one stays."""
    draw = random.Random(seed)  # noqa: S311 - an experiment
    experts = range(len(supernet.space.operations))
    return [
        (kind, edge, expert)
        for kind in supernet.mixtures
        for edge in range(len(supernet.space.edges))
        for expert in draw.sample(experts, draw.randrange(len(experts)))
    ]


def _delete(search: Search, experts: list[tuple[str, int, int]]) -> None:
    """As if they had been wiped out in the first round."""
    assert isinstance(search.method, ExpertAdvice)  # noqa: S101 - the default
    remove_experts(search, experts)
    for kind, mixture in search.mixtures.items():
        wiped = torch.zeros_like(mixture, dtype=torch.bool)
        for found, edge, expert in experts:
            wiped[edge, expert] |= found == kind
        search.method.wipe(mixture, wiped)


def _uneven(search: Search) -> dict[str, Tensor]:
    """Mixtures of the living for every cell, some identities dropped."""
    supernet = search.supernet
    assert isinstance(supernet, Supernet)  # noqa: S101
    generator = torch.Generator().manual_seed(search.settings.seed)
    found = {}
    for kind, spread in supernet.spread().items():
        drawn = torch.randn(spread.shape, generator=generator).exp().to(spread) * (spread > 0)
        kept = (torch.rand(spread.shape[:2], generator=generator) < 0.5).to(spread)[..., None]
        scale = torch.where(supernet.identities(kind), 2 * kept, 1.0)
        found[kind] = drawn / drawn.sum(-1, keepdim=True) * scale
    return found


def _differentiated(
    supernet: Supernet, batch: tuple[Tensor, Tensor], mixtures: dict[str, Tensor], *, bf16: bool = False
) -> Found:
    images, labels = batch
    weights, _ = split_parameters(supernet)
    names = {id(p): name for name, p in supernet.named_parameters()}
    given = {kind: u.clone().requires_grad_() for kind, u in mixtures.items()}
    for weight in weights:
        weight.grad = None
    with full_fp32(), torch.autocast(images.device.type, torch.bfloat16, enabled=bf16):
        logits = supernet(images, given)
        loss = cross_entropy(logits.to(images.dtype), labels)
        torch.autograd.backward(loss, inputs=[*weights, *supernet.packed, *given.values()])
    return Found(
        logits.detach().double(),
        {names[id(w)]: w.grad.double() for w in weights if w.grad is not None},
        {kind: -u.grad.double() for kind, u in given.items() if u.grad is not None},
    )


def _errors(found: Found, exact: Found) -> dict[str, float]:
    """Norm of the difference relative to what is exact."""

    def together(tensors: dict[str, Tensor]) -> Tensor:
        return torch.cat([tensors[name].flatten() for name in sorted(tensors)])

    pairs = {
        "logits": (found.logits, exact.logits),
        "gradients": (together(found.gradients), together(exact.gradients)),
        "rewards": (together(found.rewards), together(exact.rewards)),
    }
    return {name: float((a - b).norm() / b.norm()) for name, (a, b) in pairs.items()}


def _pairs(found: Found, noisy: Found, exact: Found) -> tuple[int, int]:
    """Of the pairs of experts on an edge whose rewards differ clearly: how many agree, and how many."""
    agreeing = clear = 0
    for kind, rewards in exact.rewards.items():
        for mine, plain, right in zip(found.rewards[kind], noisy.rewards[kind], rewards, strict=True):
            noise = (plain - right).square().mean().sqrt() * 2**0.5  # of a difference
            apart = right[:, :, None] - right[:, None, :]
            counted = apart.abs() > CLEAR * noise
            same = (mine[:, :, None] - mine[:, None, :]).sign() == apart.sign()
            clear += int(counted.sum()) // 2
            agreeing += int((same & counted).sum()) // 2
    return agreeing, clear


def main(words: Sequence[str] | None = None) -> int:
    """Measure all seeds and sizes, print a table, append a line for each."""
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--out", type=Path, default=Path("results/exactness.jsonl"))
    parser.add_argument("--tiny", action="store_true", help="a small network on digits, for a rehearsal")
    arguments = parser.parse_args(words)
    cells, channels, batch_size = (3, 4, 16) if arguments.tiny else (8, 16, 96)
    sizes = ((12, 12), (11, 9)) if arguments.tiny else SIZES
    for seed in range(arguments.seeds):
        config = SearchConfig(
            backend="fused",
            seed=seed,
            device=arguments.device,
            data_dir=arguments.data_dir,
            cells=cells,
            channels=channels,
            batch_size=batch_size,
            image_size=12 if arguments.tiny else None,
        )
        data = "digits" if arguments.tiny else "cifar10"
        images = load_data(data, config)
        for size in sizes:
            about = {
                "job": f"exactness-{seed}-{size[0]}x{size[1]}",
                "command": COMMAND,
                "data": data,
            }
            record = about | measure(config, images, size, arguments.rounds)
            print(json.dumps(record), flush=True)
            arguments.out.parent.mkdir(parents=True, exist_ok=True)
            with arguments.out.open("a", encoding="utf8") as file:
                file.write(json.dumps(record | ran_on(config.device)) + "\n")
    return 0


if __name__ == "__main__":
    script(main)
