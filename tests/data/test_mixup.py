"""Mixup: shares of the right distribution, images mixed by them, and every epoch drawn alike."""

import copy

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from xnas import ConfigError
from xnas.data.mixup import LARGEST_ALPHA, Mixup, drawn_shares

DRAWS = 20_000
# A mean of n draws deviates by sqrt(variance / n), and no variance here is above 0.25; five deviations.
LEFT_TO_CHANCE = 5 * (0.25 / DRAWS) ** 0.5


def made(alpha=0.2, batch_size=4, seed=3):
    mixup = Mixup(alpha, batch_size=batch_size, seed=seed)
    mixup.begin_epoch(0, 6)
    return mixup


@pytest.mark.parametrize("alpha", [0.05, 0.2, 1.0, LARGEST_ALPHA])
def test_shares_follow_the_beta_distribution(alpha):
    """Its mean is 1/2, its variance 1 / (4 (2 alpha + 1)); for the rest, draws of PyTorch's own."""
    shares = drawn_shares(alpha, DRAWS, torch.Generator().manual_seed(0))
    assert shares.shape == (DRAWS,)
    assert shares.dtype == torch.float64
    assert shares.mean().item() == pytest.approx(0.5, abs=LEFT_TO_CHANCE)
    assert shares.var().item() == pytest.approx(1 / (4 * (2 * alpha + 1)), abs=LEFT_TO_CHANCE)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        others = torch.distributions.Beta(torch.tensor(alpha).double(), alpha).sample((DRAWS,))
    points = torch.linspace(0.02, 0.98, 25).double()
    ours, theirs = ((drawn[:, None] <= points).double().mean(0) for drawn in (shares, others))
    assert torch.allclose(ours, theirs, atol=2 * LEFT_TO_CHANCE)


def test_a_tiny_alpha_gives_numbers_all_the_same():
    shares = drawn_shares(1e-6, 1000, torch.Generator().manual_seed(0))
    assert bool(((shares >= 0) & (shares <= 1)).all())
    assert shares.mean().item() == pytest.approx(0.5, abs=0.1)  # nearly all are 0 or 1


def test_images_are_mixed_with_partners_of_the_same_batch():
    mixup = made()
    images, labels = torch.rand(4, 3, 5, 5), torch.tensor([7, 8, 9, 10])
    for step in range(6):
        mixed = images.clone()
        others, share = mixup.mix(mixed, labels)
        order, part = mixup.partners[step].tolist(), mixup.shares[step].item()
        assert sorted(order) == [0, 1, 2, 3]
        assert share.item() == part
        for row, other in enumerate(order):
            expected = part * images[row] + (1 - part) * images[other]
            assert torch.allclose(mixed[row], expected, atol=1e-6)
            assert others[row] == labels[other]


def test_every_batch_has_a_share_and_an_order_of_its_own():
    mixup = made(batch_size=32)
    assert len(set(mixup.shares.tolist())) == 6
    assert len({tuple(order) for order in mixup.partners.tolist()}) == 6


def test_an_epoch_follows_from_the_seed_and_its_number_alone():
    first, second, other = made(), made(), made(seed=4)
    assert torch.equal(first.shares, second.shares)
    assert not torch.equal(first.shares, other.shares)
    second.begin_epoch(7, 6)
    assert not torch.equal(first.shares, second.shares)
    second.begin_epoch(0, 6, at=2)
    assert torch.equal(first.shares, second.shares)
    assert torch.equal(first.partners, second.partners)
    assert int(second.position) == 2


def test_tensors_keep_their_places_for_captured_steps():
    mixup = made()
    places = [t.data_ptr() for t in (mixup.shares, mixup.partners, mixup.position)]
    mixup.begin_epoch(1, 6)
    assert [t.data_ptr() for t in (mixup.shares, mixup.partners, mixup.position)] == places
    longer = copy.deepcopy(mixup)
    longer.begin_epoch(1, 7)
    assert len(longer.shares) == len(longer.partners) == 7


class NoHostReads(TorchDispatchMode):
    """Refuses operations that a CUDA graph cannot hold, as the host waits for their result."""

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        assert operation.overloadpacket.__name__ not in {"_local_scalar_dense", "nonzero", "equal"}
        return operation(*args, **kwargs or {})


def test_mixing_reads_nothing_on_the_host():
    mixup, images, labels = made(), torch.rand(4, 3, 5, 5), torch.arange(4)
    with NoHostReads():
        for _ in range(6):
            mixup.mix(images, labels)
        with pytest.raises(AssertionError):
            mixup.shares[0].item()
    assert int(mixup.position) == 6


def test_images_that_lie_by_channels_are_mixed_alike():
    first, second = made(), made()
    images = torch.rand(4, 3, 5, 5)
    by_channels = images.clone(memory_format=torch.channels_last)
    first.mix(images, torch.arange(4))
    second.mix(by_channels, torch.arange(4))
    assert torch.equal(images, by_channels)
    assert by_channels.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("alpha", [0.0, -0.2, 4.5, float("nan"), float("inf")])
def test_an_alpha_that_mixes_nothing_or_everything_is_refused(alpha):
    with pytest.raises(ConfigError, match=r"must be above 0 and at most 4, got .*; 0\.2 is common$"):
        Mixup(alpha, batch_size=4, seed=0)
