"""A pool of drawn cells, ranked by a zero-cost proxy: asked best first, or handed to another sampler.

`proxy` draws distinct cells uniformly, builds each one's network with the same seed, and scores them all
before the first ask (arXiv 2101.08134, Sec. 4). On its own it asks them in the order of their scores.
With `then` another sampler begins with the best of them in place of its random cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Protocol, cast

import torch
from torch import Tensor

from xnas.errors import ConfigError
from xnas.options import Options, at_least, at_most, option
from xnas.samplers.book import Book
from xnas.samplers.protocol import SAMPLERS, BeginsWith, Result, Sampler, SamplerKind, Trial
from xnas.samplers.zero_cost import PROXIES, macs, params
from xnas.space import SPACES, Genotype
from xnas.space.create import build_network, network_spec
from xnas.space.encoding import Choices, Encoding
from xnas.space.network_size import NetworkSizes
from xnas.space.network_spec import NetworkSpec

MOST_SCORED = 100_000  # of a pool: each cell costs a network
TRIES = 20
"""Draws for each cell of the pool, before the space is held to have no other."""


@dataclass(frozen=True, kw_only=True)
class ProxySettings(Options):
    """A ranking by a zero-cost proxy. Networks have the sizes that the space's supernet has on a GPU."""

    proxy: str = "synflow"
    """What ranks: params, macs, synflow, jacob_cov or naswot."""
    pool: int = option(500, at_least(1), at_most(MOST_SCORED))
    """Cells that are drawn and scored."""
    then: str | None = None
    """A sampler that begins with the best of the pool, such as `evolution`."""
    first: int = option(10, at_least(1))
    """Cells that it begins with."""
    batch: int = option(128, at_least(2))
    """Images of noise, if a run hands over none of its own."""
    image_size: int = option(32, at_least(8))
    """Height and width of the noise."""


class ProxySearch:
    """Asks a pool, best first, or a sampler that begins with its best."""

    def __init__(self, encoding: Encoding, seed: int, settings: ProxySettings) -> None:
        _ = PROXIES[settings.proxy]  # an unknown one is named before anything is scored
        self.encoding, self.seed, self.settings = encoding, seed, settings
        self.images: Tensor | None = None
        """One batch (batch, channels, height, width) that every network sees; noise if it is None."""
        self._asks = _beginning_sampler(encoding, seed, settings.then)
        self._is_ranked = False

    @property
    def wanted_images(self) -> int:
        """How many images it takes: the setting `batch`."""
        return self.settings.batch

    def use_images(self, images: Tensor) -> None:
        """Score with these images (batch, channels, height, width), standardised, instead of noise."""
        if self._is_ranked:
            raise ConfigError("the pool was scored already; give the images before the first ask")
        self.images = images

    @property
    def book(self) -> Book:
        """The trials."""
        return self._asks.book

    def ask(self) -> Trial | None:
        """Return the next trial; the first call scores the pool."""
        if not self._is_ranked:
            ranked = self.ranked()
            self._asks.begin_with(
                ranked if self.settings.then is None else ranked[: self.settings.first]
            )
            self._is_ranked = True
        return self._asks.ask()

    def tell(self, result: Result) -> None:
        """Take the result of an open trial."""
        self._asks.tell(result)

    @property
    def finished(self) -> bool:
        """Whether the pool was asked, or the other sampler is finished."""
        return self._is_ranked and self._asks.finished

    def best(self) -> Trial:
        """Return the told trial of the largest value, the earlier one of equals."""
        return self._asks.best()

    def ranked(self) -> list[Choices]:
        """Return the pool, best first; of equal scores the earlier draw."""
        draw = Random(f"{self.seed}/pool")
        pool: dict[Choices, None] = {}
        for _ in range(TRIES * self.settings.pool):
            if len(pool) == self.settings.pool:
                break
            pool.setdefault(self.encoding.draw(draw))
        images = noise(self.settings, self.seed) if self.images is None else self.images
        scores = {
            cell: proxy_score(self.settings.proxy, self.encoding.decode(cell), images, seed=self.seed)
            for cell in pool
        }
        return sorted(pool, key=lambda cell: -scores[cell])


def noise(settings: ProxySettings, seed: int) -> Tensor:
    """Return normal noise (batch, 3, image_size, image_size)."""
    generator = torch.Generator().manual_seed(seed)
    size = settings.image_size
    return torch.randn(settings.batch, 3, size, size, generator=generator)


def proxy_score(proxy: str, genotype: Genotype, images: Tensor, *, seed: int = 0) -> float:
    """Return the score of a cell's network with random weights, larger for better.

    `images` is one batch (batch, channels, height, width). The network has the channels and cells of the
    space's supernet on a GPU: on NAS-Bench-201 the benchmark's own. The global generator is left alone.

    >>> from xnas.space import find_genotype
    >>> proxy_score("params", find_genotype("xnas"), torch.zeros(2, 3, 32, 32)) > 1e5
    True
    """
    sizes, scored = SPACES[genotype.space].defaults, PROXIES[proxy]
    spec = network_spec(genotype).but(
        in_chans=images.shape[1], channels=sizes.channels(gpu=True), cells=sizes.cells(gpu=True)
    )
    if scored in (params, macs):  # which follow from the cell, so no network is built for each
        size = _sizes(spec, *images.shape[1:]).size(genotype)
        return float(size.parameters if scored is params else size.macs)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return scored(build_network(genotype, spec), images)


@lru_cache(maxsize=8)
def _sizes(spec: NetworkSpec, channels: int, height: int, width: int) -> NetworkSizes:
    return NetworkSizes(spec, (channels, height, width))


class _InOrder:
    """Asks given cells one after another."""

    def __init__(self, encoding: Encoding) -> None:
        self.encoding, self.book = encoding, Book()
        self._cells: Sequence[Choices] = ()

    def begin_with(self, cells: Sequence[Choices]) -> None:
        self._cells = cells

    def ask(self) -> Trial | None:
        if self.finished:
            return None
        return self.book.ask(self.encoding.decode(self._cells[self.book.asked]))

    def tell(self, result: Result) -> None:
        self.book.tell(result)

    @property
    def finished(self) -> bool:
        return self.book.asked == len(self._cells)

    def best(self) -> Trial:
        return self.book.best()


class _Beginning(Sampler, BeginsWith, Protocol):
    """Both of them, with the book of its trials."""

    @property
    def book(self) -> Book: ...


def _beginning_sampler(encoding: Encoding, seed: int, name: str | None) -> _Beginning:
    """The sampler that asks what a proxy has ranked."""
    if name is None:
        return _InOrder(encoding)
    able = [known for known, kind in SAMPLERS.items() if hasattr(kind.build, "begin_with")]
    sampler = SAMPLERS[name](encoding, seed, {})
    if name not in able:
        raise ConfigError(
            f"the sampler {name!r} cannot begin with the cells of a proxy; those that can are "
            f"{', '.join(able)}"
        )
    return cast("_Beginning", sampler)


SAMPLERS.add(
    "proxy", SamplerKind(ProxySearch, ProxySettings, "a pool ranked by a zero-cost proxy, best first")
)
