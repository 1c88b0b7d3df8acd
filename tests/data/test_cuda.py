"""On a GPU: batches from a captured graph, the same as those made one by one."""

import pytest
import torch
from batches_drawn import assert_equal, play

from xnas.data import (
    AutoAugmentTrain,
    BatchSettings,
    BatchSource,
    Chain,
    Crop,
    Cutout,
    Flip,
    RandomResizedCrop,
)
from xnas.data.autoaugment import Draws, apply_draws, draw
from xnas.data.policies import POLICIES
from xnas.data.resized_crop import resized_crops

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

ROUNDS = 6


def source(device="cuda", augment=None, finish=None):
    generator = torch.Generator().manual_seed(7)
    images = torch.randint(256, (50, 3, 32, 32), dtype=torch.uint8, generator=generator)
    return BatchSource(
        images.to(device),
        torch.arange(50),
        torch.arange(50),
        BatchSettings(
            batch_size=8,
            mean=(0.5, 0.4, 0.3),
            std=(0.2, 0.3, 0.4),
            seed=3,
            name="training",
            augment=augment,
            finish=finish,
        ),
    )


def capture(batches, buffers):
    """Capture `fill` as the documentation of CUDA graphs says, leaving the source where it stood."""
    state = batches.state_dict()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        batches.fill(*buffers)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    graph.register_generator_state(batches.generator)
    with torch.cuda.graph(graph):
        batches.fill(*buffers)
    batches.load_state_dict(state)
    return graph


@pytest.mark.parametrize(
    ("steps", "finish"),
    [
        ((Crop(4), Flip()), None),
        ((Crop(4), Flip(), AutoAugmentTrain("cifar10")), Cutout(16)),
        ((RandomResizedCrop((32, 32)), Flip(), AutoAugmentTrain("imagenet")), None),
    ],
    ids=["search", "training", "resized"],
)
def test_replayed_batches_equal_plain_ones_over_epochs(steps, finish):
    plain, captured = (source(augment=Chain(steps), finish=finish) for _ in range(2))
    buffers = captured.buffers()
    captured.begin_epoch(0, ROUNDS)
    graph = capture(captured, buffers)
    for epoch in range(3):
        replayed = []
        for batches in (plain, captured):
            batches.begin_epoch(epoch, ROUNDS)
        for _ in range(ROUNDS):
            graph.replay()
            replayed.append(tuple(buffer.clone() for buffer in buffers))
        assert_equal(play(plain, ROUNDS), replayed)
    assert int(captured.position) == ROUNDS


def test_a_replayed_source_resumes_in_mid_epoch():
    captured = source(augment=Chain((Crop(4), Flip())))
    buffers = captured.buffers()
    captured.begin_epoch(1, ROUNDS)
    graph = capture(captured, buffers)
    for _ in range(2):
        graph.replay()
    resumed = source(augment=Chain((Crop(4), Flip())))
    resumed.load_state_dict(captured.state_dict())
    for images, labels in play(resumed, ROUNDS - 2):
        graph.replay()
        assert torch.equal(buffers[0], images)
        assert torch.equal(buffers[1], labels)


def test_gpu_and_cpu_show_the_same_images_in_the_same_order():
    both = [source(device) for device in ("cpu", "cuda")]
    for batches in both:
        batches.begin_epoch(0, ROUNDS)
    cpu, gpu = (play(batches, ROUNDS) for batches in both)
    for (images, labels), (gpu_images, gpu_labels) in zip(cpu, gpu, strict=True):
        assert torch.equal(labels, gpu_labels.cpu())
        assert torch.allclose(images, gpu_images.cpu(), atol=1e-6)


def test_a_checkpoint_of_the_gpu_resumes_on_the_cpu():
    gpu, cpu = source(), source("cpu")
    gpu.begin_epoch(0, ROUNDS)
    play(gpu, 2)
    cpu.load_state_dict(gpu.state_dict())
    expected = [labels.tolist() for _, labels in play(gpu, ROUNDS - 2)]
    assert [labels.tolist() for _, labels in play(cpu, ROUNDS - 2)] == expected


def test_auto_augment_repeats_on_a_gpu_and_moves_no_global_state():
    results, states = [], []
    for _ in range(2):
        batches = source(augment=AutoAugmentTrain())
        batches.begin_epoch(0, ROUNDS)
        states.append(torch.cuda.get_rng_state())
        results.append(play(batches, 2))
        states.append(torch.cuda.get_rng_state())
    assert_equal(*results)
    assert all(torch.equal(states[0], state) for state in states)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("policy", POLICIES)
def test_the_same_draws_give_the_same_images_on_gpu_and_cpu(policy, channels):
    images = torch.randint(256, (200, channels, 32, 32), dtype=torch.uint8)
    augment = AutoAugmentTrain(policy)
    choices, on_gpu = augment.choices(images), augment.choices(images.cuda())
    draws = draw(choices, len(images), torch.Generator().manual_seed(1))
    gpu_draws = Draws(draws.pair.cuda(), draws.applied.cuda(), draws.negative.cuda())
    expected = apply_draws(images, choices, draws, way="grouped")
    for way in ("merged", "grouped"):
        result = apply_draws(images.cuda(), on_gpu, gpu_draws, way=way).cpu()
        assert (result != expected).float().mean() <= 0.001  # as geometric operations may


def test_boxes_are_resized_alike_on_gpu_and_cpu():
    images = torch.randint(256, (20, 3, 64, 48), dtype=torch.uint8)
    boxes = RandomResizedCrop((32, 32)).boxes(images, torch.Generator().manual_seed(0))
    result = resized_crops(images.cuda(), boxes.cuda(), (32, 32)).cpu()
    assert torch.equal(result, resized_crops(images, boxes, (32, 32)))
