"""The fused cells of NAS-Bench-201 against the plain modules: the same function of the same weights."""

import pytest
import torch
from fused_benchmark_cases import (
    EDGES,
    EXACT,
    NORMAL,
    SINGLE,
    SPACE,
    WITH_NONE,
    assert_as_close,
    assert_same,
    batch_of,
    differentiated,
    pair_of,
    relative_error,
    some_deaths,
    wipe,
)
from fused_cases import on_gpu
from torch import nn
from torch.nn.functional import cross_entropy

from xnas import ConfigError, split_parameters
from xnas.kernels import fan_out, fan_out_gradients, language, rewards, square_weights
from xnas.space.benchmark_supernet import BenchmarkSearchCell, BenchmarkSupernet
from xnas.space.fused_benchmark import FusedCells


@pytest.mark.parametrize(
    ("seed", "training"),
    [
        *((seed, seed % 3 > 0) for seed in range(8)),
        *(pytest.param(seed, seed % 3 == 0, marks=pytest.mark.slow) for seed in range(12)),
    ],
)
def test_it_computes_what_the_modules_do_for_any_living_experts(seed, training):
    space = (SPACE, WITH_NONE)[seed % 2]
    plain, fused = pair_of(space, seed=seed, channels=2 + seed % 5, cells=1 + seed % 2)
    if seed > 1:
        deaths = some_deaths(space, seed)
        wipe(plain, deaths)
        wipe(fused, deaths)
    plain.train(training)
    fused.train(training)
    fused.fuse()
    assert_same(plain, fused, batch_of(plain), EXACT)


@pytest.mark.parametrize("space", [SPACE, WITH_NONE], ids=["four", "five"])
def test_it_computes_what_the_modules_do_in_single_precision(space):
    plain, fused = pair_of(space, seed=0, dtype=torch.float32, channels=4, cells=2)
    fused.fuse()
    assert_same(plain, fused, batch_of(plain, size=(16, 16), batch=8), SINGLE)


@pytest.mark.skipif(
    language.triton is None or torch.cuda.is_available(), reason="Triton's interpreter is for CPUs"
)
@pytest.mark.parametrize("deaths", [pytest.param(0, marks=pytest.mark.slow), EDGES])
def test_its_kernels_compute_what_the_modules_do(monkeypatch, deaths):
    """All experts, and some: on edge 0 nothing but convolutions, on edge 5, alone to leave, a pool."""
    plain, fused = pair_of(WITH_NONE, seed=0, dtype=torch.float32)
    doomed = [[0, 1, 4], [], [1, 2], [3], [], [0, 1, 2, 3]][:deaths]
    wipe(plain, doomed)
    wipe(fused, doomed)
    fused.fuse()
    for module in (fan_out, fan_out_gradients, rewards, square_weights):
        monkeypatch.setattr(module, "compiles_for", lambda _: True)
    assert_same(plain, fused, batch_of(plain, size=(8, 8), batch=3), SINGLE)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in {"nor_conv_1x1", "avg_pool_3x3"}))
        for name in WITH_NONE.operations
    ],
)
def test_an_edge_may_have_one_expert_left(name):
    for edges in ([0], [2], [1, 4], [5], range(EDGES)):
        plain, fused = pair_of(WITH_NONE, seed=1)
        others = [i for i, other in enumerate(WITH_NONE.operations) if other != name]
        deaths = [others if edge in edges else [] for edge in range(EDGES)]
        wipe(plain, deaths)
        wipe(fused, deaths)
        fused.fuse()
        assert_same(plain, fused, batch_of(plain), EXACT)


def test_none_is_paid_exactly_nothing():
    _, fused = pair_of(WITH_NONE, seed=0)
    fused.fuse()
    _, _, rewards = differentiated(fused, batch_of(fused))
    assert rewards.shape == (3, EDGES, 5)
    assert (rewards[..., 0] == 0).all()
    assert (rewards[..., 1:] != 0).all()


def test_a_search_continues_after_a_wipe():
    plain, fused = pair_of(WITH_NONE, seed=3)
    optimizers = [torch.optim.SGD(split_parameters(n)[0], lr=0.1, momentum=0.9) for n in (plain, fused)]
    batch = batch_of(plain)
    fused.fuse()
    for deaths in ([[], [0], [2, 3], [], [1], []], [[0, 1], [], [], [4], [2, 3], [1]]):
        for _ in range(2):
            assert_same(plain, fused, batch, EXACT)
            for optimizer in optimizers:
                optimizer.step()
        wipe(plain, deaths)
        wipe(fused, deaths)
        assert not fused.fused
        assert fused.packed == []
        assert_same(plain, fused, batch, EXACT)
        fused.fuse()
    assert_same(plain, fused, batch, EXACT)


def test_weights_are_shared_both_ways():
    plain, fused = pair_of(SPACE, seed=5)
    batch = batch_of(plain)
    fused.fuse()
    fused.fuse()  # as good as once
    assert fused.fused
    weights = split_parameters(fused)[0]
    before = fused.stem[0].weight.detach().clone()
    differentiated(fused, batch)
    torch.optim.SGD(weights, lr=0.5).step()
    assert not torch.equal(before, fused.stem[0].weight)
    fused.eval()
    with torch.no_grad():
        expected = fused(batch[0])
        fused.unfuse()
        assert not fused.fused
        torch.testing.assert_close(fused(batch[0]), expected, **EXACT)


def test_gradients_of_one_backward_may_go_everywhere():
    plain, fused = pair_of(WITH_NONE, seed=6)
    fused.fuse()
    images, labels = batch_of(plain)
    images.requires_grad_()
    seen = []
    for net in (plain, fused):
        images.grad = None
        cross_entropy(net(images), labels).backward()
        seen.append((images.grad, {n: p.grad for n, p in net.named_parameters()}))
    torch.testing.assert_close(seen[1], seen[0], **EXACT)


def test_the_architecture_step_computes_no_weight_gradient(monkeypatch):
    _, fused = pair_of(SPACE, seed=0)
    fused.fuse()
    masks = []
    original = torch.ops.aten.convolution_backward

    def watched(*arguments, output_mask, **options):
        masks.append(output_mask)
        return original(*arguments, output_mask=output_mask, **options)

    monkeypatch.setattr("xnas.kernels.square_weights.aten.convolution_backward", watched)
    images, labels = batch_of(fused)
    cross_entropy(fused(images, fused.spread()), labels).backward(
        inputs=[*split_parameters(fused)[0], *fused.packed]
    )
    assert masks == [[False, True, False], [True, False, False]] * 9
    masks.clear()
    loss = cross_entropy(fused(images), labels)
    torch.autograd.grad(loss, [fused.normal_mixture])
    assert masks == [[True, False, False]] * 8


def test_rewards_are_the_same_while_the_weights_are_held():
    _, fused = pair_of(WITH_NONE, seed=2)
    fused.fuse()
    images, labels = batch_of(fused)
    rewards = []
    for held in (False, True):
        for leaf in (*split_parameters(fused)[0], *fused.packed):
            leaf.requires_grad_(not held)
        loss = cross_entropy(fused(images), labels)
        rewards += torch.autograd.grad(loss, [fused.normal_mixture])
    assert torch.equal(*rewards)


def test_state_is_the_same_and_loading_reaches_the_packed_weights():
    plain, fused = pair_of(WITH_NONE, seed=7)
    other, _ = pair_of(WITH_NONE, seed=8)
    before = plain.state_dict()
    fused.fuse()
    assert list(fused.state_dict()) == list(before)
    for name, value in fused.state_dict().items():
        assert torch.equal(value, before[name]), name
    assert all(p.is_contiguous() for p in fused.packed)
    fused.load_state_dict(other.state_dict())
    assert_same(other, fused, batch_of(other), EXACT)


def test_every_batch_is_counted():
    _, fused = pair_of(SPACE, seed=0)
    fused.fuse()
    images, _ = batch_of(fused)
    for _ in range(3):
        fused(images)
    fused.eval()
    fused(images)
    counts = {n: int(b) for n, b in fused.named_buffers() if n.endswith("num_batches_tracked")}
    assert set(counts.values()) == {3}


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in (1, 2))])
def test_in_16_bits_it_is_as_close_as_the_modules_are(seed):
    plain, fused = pair_of(SPACE, seed=seed, dtype=torch.float32, channels=8)
    fused.fuse()
    batch = batch_of(plain, size=(16, 16), batch=16)
    exact = differentiated(plain, batch)
    assert_as_close(differentiated(fused, batch, True), differentiated(plain, batch, True), exact)


def test_a_mixture_for_every_sample_is_refused():
    _, fused = pair_of(SPACE, seed=0)
    fused.fuse()
    images, _ = batch_of(fused)
    each = fused.spread()[NORMAL][:, None].expand(-1, len(images), -1, -1)
    with pytest.raises(ConfigError, match=r"one mixture per cell.* use the reference backend"):
        fused(images, {NORMAL: each})


def test_an_unknown_operation_is_refused():
    net = BenchmarkSupernet(SPACE, num_classes=4, cells=1, channels=2)
    for block in net.blocks:
        if isinstance(block, BenchmarkSearchCell):
            block.forecaster(1).experts["max_pool_3x3"] = nn.MaxPool2d(3, 1, 1)
    with pytest.raises(ConfigError, match="does not know the operation 'max_pool_3x3', only none, skip"):
        net.fuse()


def test_a_stage_packs_its_living_convolutions():
    net = BenchmarkSupernet(SPACE, num_classes=2, cells=2, channels=2)
    net.wipe("normal", 0, [SPACE.operations.index("nor_conv_3x3")])
    net.fuse()
    assert isinstance(net.fused_cells, FusedCells)
    packed = {id(p): p.untyped_storage().data_ptr() for p in net.packed}
    living = [
        parameter
        for block in net.blocks
        for name, parameter in block.named_parameters()
        if "forecasters" in name
    ]
    assert len(living) == 6 * (6 * 2 - 1)  # 6 cells; two convolutions on 6 edges, one of them gone
    assert all(p.untyped_storage().data_ptr() in packed.values() for p in living)


class TestOnGpu:
    pytestmark = on_gpu

    @pytest.fixture(autouse=True)
    def _exact_products(self, monkeypatch):
        monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)

    def networks(self, space, deaths=()):
        plain, fused = pair_of(space, seed=0, dtype=torch.float32, device="cuda", channels=16, cells=2)
        wipe(plain, deaths)
        wipe(fused, deaths)
        fused.fuse()
        return plain, fused, batch_of(plain, size=(32, 32), batch=96)

    @pytest.mark.parametrize("space", [SPACE, WITH_NONE], ids=["four", "five"])
    def test_in_32_bits_it_computes_what_the_modules_do(self, space):
        plain, fused, batch = self.networks(space)
        ours, exact = differentiated(fused, batch), differentiated(plain, batch)
        assert relative_error(ours[0], exact[0]) < 1e-3
        assert relative_error(ours[2], exact[2]) < 5e-3
        for name, gradient in exact[1].items():
            assert relative_error(ours[1][name], gradient) < 1e-2, name

    def test_in_16_bits_it_is_as_close_as_the_modules_are(self):
        plain, fused, batch = self.networks(SPACE)
        exact = differentiated(plain, batch)
        ours, theirs = differentiated(fused, batch, True), differentiated(plain, batch, True)
        assert ours[0].dtype == torch.bfloat16
        assert relative_error(ours[0], exact[0]) < 0.05
        assert_as_close(ours, theirs, exact)

    def test_the_gradient_goes_back_through_pools(self):
        """With nothing but pools alive the stem's gradient is theirs."""
        pool = SPACE.operations.index("avg_pool_3x3")
        deaths = [[i for i in range(len(SPACE.operations)) if i != pool]] * EDGES
        plain, fused, batch = self.networks(SPACE, deaths)
        ours, exact = differentiated(fused, batch), differentiated(plain, batch)
        assert relative_error(ours[1]["stem.0.weight"], exact[1]["stem.0.weight"]) < 1e-3
        assert relative_error(ours[2], exact[2]) < 1e-3

    def test_both_steps_can_be_captured(self):
        _, fused = pair_of(SPACE, seed=0, dtype=torch.float32, device="cuda", channels=16, cells=1)
        fused.fuse()
        batch = batch_of(fused, size=(32, 32), batch=96)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                expected = differentiated(fused, batch, autocast=True)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            captured = differentiated(fused, batch, autocast=True)
        graph.replay()
        assert relative_error(captured[0], expected[0]) < 1e-2
        assert relative_error(captured[2], expected[2]) < 1e-2
