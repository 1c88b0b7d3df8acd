"""The fused cells of DARTS's space against the plain modules: the same function of the same weights."""

import copy

import pytest
import torch
from fused_cases import (
    CONVOLUTIONS,
    FEW,
    NORMAL,
    POOLS,
    REDUCTION,
    SPACE,
    WITH_NONE,
    apart,
    assert_as_close_in_16_bits,
    assert_close_in_32_bits,
    assert_same,
    assert_same_results,
    assert_same_state,
    batch_of,
    differentiated,
    leaving,
    near,
    on_gpu,
    pair_of,
    some_deaths,
    uneven,
    wipe,
)
from torch import nn
from torch.nn.functional import cross_entropy

from xnas import ConfigError, split_parameters
from xnas.kernels.language import rehearsal
from xnas.nn.operations import OPERATIONS
from xnas.space import SPACES, SearchSpace
from xnas.space.fused_cell import FusedCell


@pytest.mark.parametrize(
    ("space", "sizes", "size"),
    [
        (SPACE, {"cells": 3, "channels": 3}, (9, 7)),
        (WITH_NONE, {"cells": 4, "channels": 2}, (15, 16)),
        (SPACE, {"cells": 5, "channels": 1}, (8, 11)),
        (SearchSpace("one", SPACE.operations, nodes=1), {"channels": 5}, (9, 7)),
        (SearchSpace("large", ("sep_conv_7x7", "skip_connect"), nodes=3), {}, (15, 16)),
        (SearchSpace("last", ("sep_conv_5x5", "dil_conv_3x3", "none"), nodes=2), {}, (9, 7)),
    ],
    ids=["seven", "eight", "five cells", "one node", "seven by seven", "nothing passed on"],
)
def test_it_computes_what_the_modules_do(space, sizes, size):
    plain, fused = pair_of(space, **sizes)
    fused.fuse()
    assert fused.fused
    assert_same(plain, fused, batch_of(plain, size=size))


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 10))]
)
def test_it_computes_what_the_modules_do_for_any_living_experts(seed):
    nodes = 4 if seed < 4 else 2 + seed % 3
    space = SearchSpace("some", (SPACE, WITH_NONE)[seed % 2].operations, nodes=nodes)
    sizes = {"cells": 3 + seed % 3, "channels": 1 + seed % 5}
    plain, fused = pair_of(space, seed=seed, deaths=some_deaths(space, seed), **sizes)
    fused.fuse()
    assert_same(plain, fused, batch_of(plain, size=((9, 7), (15, 16), (8, 8))[seed % 3]))


@pytest.mark.parametrize("name", SPACE.operations)
def test_every_edge_may_have_the_same_expert_left(name):
    plain, fused = pair_of(FEW, deaths=leaving(FEW, lambda *_: [name]))
    fused.fuse()
    assert_same(plain, fused, batch_of(plain))


@pytest.mark.parametrize(
    "keep",
    [
        lambda source, _: ["skip_connect"] if source == 2 else FEW.operations,
        lambda source, _: POOLS if source < 2 else CONVOLUTIONS,
        lambda source, _: CONVOLUTIONS if source < 2 else ["none", *POOLS],
        lambda source, _: ["max_pool_3x3"] if source == 1 else ["skip_connect", "dil_conv_5x5"],
        pytest.param(
            lambda source, _: ["avg_pool_3x3"] if source == 0 else ["sep_conv_3x3"],
            marks=pytest.mark.slow,
        ),
        lambda *_: [name for name in FEW.operations if name not in POOLS],
        lambda *_: [name for name in FEW.operations if name not in CONVOLUTIONS],
        pytest.param(
            lambda *_: [name for name in FEW.operations if "sep_conv" not in name],
            marks=pytest.mark.slow,
        ),
        lambda *_: [name for name in FEW.operations if "dil_conv" not in name],
        pytest.param(
            lambda *_: [name for name in FEW.operations if name != "skip_connect"],
            marks=pytest.mark.slow,
        ),
        lambda source, _: ["none"] if source == 0 else FEW.operations,
        lambda source, _: ["none"] if source == 1 else ["skip_connect"],
        pytest.param(
            lambda source, _: ["none"] if source == 2 else FEW.operations, marks=pytest.mark.slow
        ),
        pytest.param(lambda _, node: ["none"] if node == 2 else FEW.operations, marks=pytest.mark.slow),
        lambda _, node: ["none"] if node == 3 else FEW.operations,
    ],
)
def test_whole_groups_of_experts_may_be_gone(keep):
    plain, fused = pair_of(FEW, deaths=leaving(FEW, keep))
    fused.fuse()
    assert_same(plain, fused, batch_of(plain))


def test_none_is_paid_exactly_nothing():
    _, fused = pair_of(FEW)
    fused.fuse()
    _, _, rewards = differentiated(fused, batch_of(fused), uneven(fused))
    for kind, cells in ((NORMAL, 1), (REDUCTION, 2)):
        assert rewards[kind].shape == (cells, len(FEW.edges), len(FEW.operations))
        assert (rewards[kind][..., 0] == 0).all()
        assert (rewards[kind][..., 1:] != 0).all()


def test_gradients_of_one_backward_may_go_everywhere():
    plain, fused = pair_of(FEW)
    fused.fuse()
    images, labels = batch_of(plain)
    images.requires_grad_()
    seen = []
    for net in (plain, fused):
        images.grad = None
        logits = net(images)
        cross_entropy(logits, labels).backward()
        gradients = {name: p.grad for name, p in net.named_parameters()} | {"images": images.grad}
        seen.append((logits.detach(), gradients, {}))
    assert len(seen[1][1]) == len(list(plain.parameters())) + 1
    assert_same_results(*reversed(seen))


def test_weights_that_learn_nothing_cost_nothing(monkeypatch):
    plain, fused = pair_of(FEW)
    fused.fuse()
    batch, mixtures = batch_of(plain), uneven(plain)
    _, _, rewards = differentiated(fused, batch, mixtures)
    weights = [*split_parameters(fused)[0], *fused.packed]
    for weight in weights:
        weight.grad = None
        weight.requires_grad_(False)
    for name in ("depthwise_weight_gradient", "pointwise_weight_gradient"):
        monkeypatch.setattr(f"xnas.space.fused_cell.{name}", None)  # not to be called
    monkeypatch.setattr("xnas.space.fused_reductions.pointwise_weight_gradient", None)
    given = {kind: u.clone().requires_grad_() for kind, u in mixtures.items()}
    cross_entropy(fused(batch[0], given), batch[1]).backward()
    assert all(weight.grad is None for weight in weights)
    for kind, u in given.items():
        assert torch.equal(-u.grad, rewards[kind])


def stepped(net, batch, mixtures, **options):
    """A step of SGD."""
    weights, _ = split_parameters(net)
    differentiated(net, batch, mixtures)
    torch.optim.SGD(weights, lr=0.1, **options).step()


def test_weights_are_shared_both_ways():
    plain, fused = pair_of(FEW, deaths=some_deaths(FEW, 3), cells=4)
    batch, mixtures = batch_of(plain), uneven(plain)
    fused.fuse()
    fused.fuse()  # as good as once
    before = copy.deepcopy(plain.state_dict())
    for net in (plain, fused):
        stepped(net, batch, mixtures)
    changed = [
        name for name, value in plain.state_dict().items() if not torch.equal(value, before[name])
    ]
    assert any("sep_conv" in name for name in changed)
    assert_same_state(fused, plain)
    learned = fused.state_dict()
    fused.unfuse()
    assert not fused.fused
    assert fused.packed == []
    assert list(fused.state_dict()) == list(learned)
    assert all(torch.equal(value, learned[name]) for name, value in fused.state_dict().items())
    for net in (plain, fused):
        net.eval()
    near(fused(batch[0], mixtures), plain(batch[0], mixtures), "logits")


def test_a_search_continues_after_a_wipe():
    plain, fused = pair_of(FEW)
    batch, mixtures = batch_of(plain), uneven(plain)
    optimizers = [torch.optim.SGD(split_parameters(n)[0], lr=0.1, momentum=0.9) for n in (plain, fused)]
    fused.fuse()
    for deaths in ([[], [0], [1, 2, 3], [7], []], [[0, 1], [2, 6], [], [4], [3, 5]]):
        for _ in range(2):
            assert_same(plain, fused, batch, mixtures)
            for optimizer in optimizers:
                optimizer.step()
        for net in (plain, fused):
            wipe(net, {NORMAL: deaths, REDUCTION: deaths[::-1]})
        assert not fused.fused
        assert fused.packed == []
        assert_same(plain, fused, batch, mixtures)
        fused.fuse()
    assert_same(plain, fused, batch, mixtures)


def test_the_state_does_not_know_of_it():
    plain, fused = pair_of(FEW)
    before = plain.state_dict()
    for change in (lambda: None, fused.fuse, fused.unfuse, fused.fuse):
        change()
        found = fused.state_dict()
        assert list(found) == list(before)
        assert all(torch.equal(found[name], value) for name, value in before.items())


def test_loading_reaches_the_packed_weights():
    _, fused = pair_of(FEW)
    other, _ = pair_of(FEW, seed=1)
    fused.fuse()
    packed = [leaf.detach().clone() for leaf in fused.packed]
    fused.load_state_dict(other.state_dict())
    assert not any(torch.equal(*two) for two in zip(packed, fused.packed, strict=True))
    assert_same(other, fused, batch_of(other))


def test_batch_norms_have_buffers_of_their_own_afterwards():
    plain, fused = pair_of(FEW)
    batch, mixtures = batch_of(plain), uneven(plain)

    def places(net):
        return [value.data_ptr() for name, value in net.state_dict().items() if "running" in name]

    assert len(set(places(plain))) == len(places(plain))
    fused.fuse()
    assert len(set(places(fused))) < len(places(fused))  # pools of a state share theirs
    assert_same(plain, fused, batch, mixtures)
    fused.unfuse()
    assert len(set(places(fused))) == len(places(fused))
    assert_same(plain, fused, batch, mixtures)
    for net in (plain, fused):
        stepped(net, batch, mixtures)
    assert_same_state(fused, plain)
    assert_same(plain, fused, batch, mixtures)


def test_every_batch_is_counted():
    _, fused = pair_of(FEW)
    fused.fuse()
    images, _ = batch_of(fused)
    for _ in range(3):
        fused(images)
    fused.eval()
    fused(images)
    counts = [int(b) for name, b in fused.state_dict().items() if name.endswith("num_batches_tracked")]
    assert set(counts) == {4}  # one more than here


def test_evaluation_is_left_to_the_modules(monkeypatch):
    plain, fused = pair_of(FEW)
    images, _ = batch_of(plain)
    fused.fuse()
    monkeypatch.setattr(FusedCell, "__call__", None)
    for net in (plain, fused):
        net.eval()
    assert torch.equal(fused(images), plain(images))
    each = {kind: u[:, None].expand(-1, len(images), -1, -1) for kind, u in fused.spread().items()}
    near(fused(images, each), plain(images), "logits")
    fused.train()
    with pytest.raises(TypeError):
        fused(images)


def test_a_mixture_for_every_sample_is_refused():
    _, fused = pair_of(FEW)
    fused.fuse()
    images, _ = batch_of(fused)
    each = {kind: u[:, None].expand(-1, len(images), -1, -1) for kind, u in fused.spread().items()}
    with pytest.raises(ConfigError, match=r"one mixture per batch.* use the reference backend"):
        fused(images, each)


def test_an_unknown_operation_is_refused(monkeypatch):
    monkeypatch.setattr(OPERATIONS, "_entries", {**OPERATIONS})
    monkeypatch.setattr(SPACES, "_entries", {**SPACES})
    OPERATIONS.add("swish", lambda *_: nn.SiLU())
    SPACES.add("mine", SearchSpace("mine", ("dil_conv_3x3", "swish"), nodes=2))
    _, fused = pair_of(SPACES["mine"], deaths={REDUCTION: [[1]] * 5, NORMAL: [[1]] * 4})
    with pytest.raises(ConfigError, match=r"'swish' has no fused form; use the reference backend"):
        fused.fuse()
    assert not fused.fused
    wipe(fused, {NORMAL: [[]] * 4 + [[1]]})  # nobody is left to ask for it
    plain = copy.deepcopy(fused)
    fused.fuse()
    assert_same(plain, fused, batch_of(plain))


def test_in_16_bits_sums_are_wide():
    """PyTorch's gradient of a dilated convolution is wrong in bfloat16 on a CPU: nothing to compare."""
    plain, fused = pair_of(SPACE, dtype=torch.float32, channels=4)
    fused.fuse()
    batch, mixtures = batch_of(plain, size=(16, 16), batch=8), uneven(plain)
    exact = differentiated(plain, batch, mixtures)
    found = differentiated(fused, batch, mixtures, autocast=True)
    assert all(gradient.dtype == torch.float32 for gradient in found[1].values())
    strays = apart(found, exact)
    assert strays["logits"] < 0.1
    assert max(strays.values()) < 0.5


class TestOnGpu:
    pytestmark = on_gpu

    @pytest.fixture(autouse=True)
    def _exact_products(self, monkeypatch):
        monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)

    def networks(self, space, deaths=None, **sizes):
        sizes = {"num_classes": 10, "dtype": torch.float32, "device": "cuda"} | sizes
        return pair_of(space, deaths=deaths, **sizes)

    @pytest.mark.parametrize("seed", [None, 1, 2])
    @pytest.mark.parametrize("space", [SPACE, WITH_NONE], ids=["seven", "eight"])
    def test_in_32_bits_it_computes_what_the_modules_do(self, space, seed):
        deaths = None if seed is None else some_deaths(space, seed)
        plain, fused = self.networks(space, deaths, channels=8, cells=4)
        fused.fuse()
        batch, mixtures = batch_of(plain, size=(16, 16), batch=32), uneven(plain)
        found, exact = (differentiated(net, batch, mixtures) for net in (fused, plain))
        assert_close_in_32_bits(found, exact, 1e-4)

    def test_in_16_bits_it_is_as_close_as_the_modules_are(self):
        plain, fused = self.networks(SPACE, channels=8, cells=4)
        fused.fuse()
        batch, mixtures = batch_of(plain, size=(16, 16), batch=32), uneven(plain)
        exact = differentiated(plain, batch, mixtures)
        found, other = (differentiated(n, batch, mixtures, autocast=True) for n in (fused, plain))
        assert_as_close_in_16_bits(found, other, exact)

    def test_two_passes_give_the_same_bits(self):
        _, fused = self.networks(SPACE, channels=8, cells=3)
        fused.fuse()
        batch, mixtures = batch_of(fused, size=(15, 13), batch=16), uneven(fused)
        one, two = (differentiated(fused, batch, mixtures, autocast=True) for _ in range(2))
        mine = [name for name in one[1] if ".experts." in name]
        assert all(torch.equal(one[1][name], two[1][name]) for name in mine)

    @pytest.mark.slow
    @pytest.mark.parametrize("size", [(32, 32), (31, 29)], ids=["even", "odd"])
    @pytest.mark.parametrize("seed", range(3))
    def test_at_full_size_on_learned_weights(self, seed, size):
        plain, _ = self.networks(SPACE, some_deaths(SPACE, seed), seed=seed, cells=8, channels=16)
        weights, _ = split_parameters(plain)
        optimizer = torch.optim.SGD(weights, lr=0.025, momentum=0.9)
        for _ in range(20):
            differentiated(plain, batch_of(plain, size=size, batch=96), plain.spread())
            optimizer.step()
        fused = copy.deepcopy(plain)
        fused.fuse()
        batch, mixtures = batch_of(plain, size=size, batch=96), uneven(plain)
        mixtures = {kind: u / u.sum(-1, keepdim=True) for kind, u in mixtures.items()}
        bystander = copy.deepcopy(plain)
        bystander.fuse()
        with rehearsal():  # compiles all kernels at once
            for autocast in (False, True):
                differentiated(bystander, batch, mixtures, autocast=autocast)
        exact = differentiated(plain, batch, mixtures)
        assert_close_in_32_bits(differentiated(fused, batch, mixtures), exact, 1e-3)
        found, other = (differentiated(n, batch, mixtures, autocast=True) for n in (fused, plain))
        assert_as_close_in_16_bits(found, other, exact)
