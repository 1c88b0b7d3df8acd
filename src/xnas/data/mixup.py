"""Mixup: a batch mixed with itself in another order, by a share that is drawn for each batch.

Zhang et al. (2018, arXiv:1710.09412): every image becomes share * image + (1 - share) * partner, where
the share follows Beta(alpha, alpha) and partners are a permutation of the batch.

Shares and partners of a whole epoch are drawn on the host, from a stream that the seed and the epoch
alone decide, and lie on the device. A step takes those of its position. So a captured step reads nothing
on the host, a resumed training mixes as one that was never stopped, and every device draws alike.
"""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from xnas.data.splits import stream
from xnas.data_options import LARGEST_ALPHA
from xnas.errors import ConfigError


class Mixup:
    """Mixes the batches of a training in place. `position` moves on inside a captured step.

    `batch_size` counts the images that this process has of a batch. Of several processes each mixes its
    own part, all with the same share.
    """

    def __init__(
        self, alpha: float, *, batch_size: int, seed: int, device: torch.device | str = "cpu"
    ) -> None:
        if not 0 < alpha <= LARGEST_ALPHA:
            raise ConfigError(
                f"mixup must be above 0 and at most {LARGEST_ALPHA}, got {alpha:g}; 0.2 is common"
            )
        self.alpha, self.seed = alpha, seed
        self.shares = torch.empty(0, device=device)
        self.partners = torch.empty((0, batch_size), dtype=torch.int64, device=device)
        self.position = torch.zeros((), dtype=torch.int64, device=device)

    def begin_epoch(self, epoch: int, steps: int, *, at: int = 0) -> None:
        """Draw what `steps` batches of an epoch need, and go to the step `at`.

        Tensors keep their places from epoch to epoch as long as the number of steps stays.
        """
        generator = stream(self.seed, f"mixup/{epoch}")
        shares = drawn_shares(self.alpha, steps, generator)
        size = self.partners.shape[1]
        partners = torch.rand((steps, size), dtype=torch.float64, generator=generator).argsort(-1)
        if len(self.shares) == steps:
            self.shares.copy_(shares)
            self.partners.copy_(partners)
        else:
            self.shares = shares.to(self.shares)
            self.partners = partners.to(self.partners)
        self.go_to(at)

    def go_to(self, step: int) -> None:
        """Go to a step of the epoch that was begun."""
        self.position.fill_(step)

    def mix(self, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Mix images (n, ...) in place; gives the labels (n,) of their partners and their own share.

        The share is a float32 tensor (). Moves on by one step, without a host read.
        """
        share = self.shares.index_select(0, self.position.view(1)).view(())
        partners = self.partners.index_select(0, self.position.view(1)).view(-1)
        images.copy_(share * images + (1 - share) * images.index_select(0, partners))
        self.position.add_(1)
        return labels.index_select(0, partners), share


def drawn_shares(alpha: float, count: int, generator: Generator) -> Tensor:
    """Numbers (count,) in float64 that follow Beta(alpha, alpha), by Jöhnk's rejection.

    Let x = u^(1/alpha) and y = v^(1/alpha) of two uniform numbers u and v. Among pairs with x + y <= 1,
    x / (x + y) follows that distribution. Logarithms are used, as such powers may be too small for a
    float. PyTorch's own draws of this distribution take no generator.
    """
    kept, missing = [], count
    while missing > 0:
        uniform = 1 - torch.rand((2, count), dtype=torch.float64, generator=generator)  # never 0
        x, y = uniform.log() / alpha
        kept.append(torch.sigmoid(x - y)[torch.logaddexp(x, y) <= 0])
        missing -= len(kept[-1])
    return torch.cat(kept)[:count]
