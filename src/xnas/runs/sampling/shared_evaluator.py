"""The evaluator `shared`: a cell is worth its accuracy with the weights of a search's supernet.

One evaluation is a few forward passes. It says something about cells alone if the supernet was trained
over single paths (`--method random`), so that its operations work without each other. Random cells need
all operations of all edges, so a supernet that has lost some of them is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from xnas.data import Images
from xnas.engine import Search
from xnas.engine.restore import require_settings
from xnas.engine.search_state import restore_supernet
from xnas.engine.shared_weights import cell_accuracy, experts_left
from xnas.errors import ConfigError
from xnas.options import saved_options
from xnas.process.devices import pick_device, repeatable
from xnas.runs.cell_costs import Latencies
from xnas.runs.config_file import KINDS, ConfigFile, read_json
from xnas.runs.config_file import NAME as CONFIG
from xnas.runs.prepare import prepare
from xnas.runs.run_folder import RunFolder
from xnas.runs.sampling.config import SampleConfig
from xnas.runs.sampling.evaluators import EVALUATORS, EvaluatorKind
from xnas.runs.sampling.training_evaluator import TrainingEvaluator, training_evaluator
from xnas.runs.search_config import SearchConfig
from xnas.samplers import Result, Trial
from xnas.space import Genotype
from xnas.space.network_size import NetworkSize


@dataclass(frozen=True)
class SharedEvaluator:
    """Evaluates cells by the newest checkpoint of the search in the folder `weights`."""

    weights: Path
    device_name: str
    images: Images = field(compare=False, repr=False)
    trainings: TrainingEvaluator = field(compare=False, repr=False)
    """What a training of a cell would be, for the size of its network."""

    @property
    def line(self) -> str:
        """Whose weights, after how many epochs, and how many experts there are to evaluate."""
        search = loaded(self)
        left, began = experts_left(search)
        return (
            f"evaluated by the shared weights of {self.weights} after epoch {search.epoch}, on its "
            f"validation half; {left} of {began} experts are left"
        )

    @property
    def device(self) -> str:
        """Where it computes: cpu or cuda."""
        return pick_device(self.device_name).type

    def require_budget(self, budget: int | None) -> None:
        """Raise for any number of epochs: the weights are what they are."""
        if budget is not None:
            raise ConfigError(
                f"shared weights know no epochs, and the sampler asks for {budget}; use one without "
                "budgets, or --evaluator train"
            )

    def evaluate(self, trial: Trial, folder: Path) -> Result:  # noqa: ARG002 - nothing is written
        """Measure the cell; one that the supernet does not hold is a GenotypeError."""
        self.require_budget(trial.budget)
        search = loaded(self)
        with repeatable(search.device):
            value = cell_accuracy(search, trial.genotype)
        size = self.size(trial.genotype)
        cost = {"parameters": float(size.parameters), "macs": float(size.macs)}
        at = search.epoch or None  # a search that was stopped in its first one
        return Result(number=trial.number, value=value, state="done", at=at, cost=cost)

    def size(self, genotype: Genotype) -> NetworkSize:
        """Return the size of the network that a training of the cell would have."""
        return self.trainings.size(genotype)

    def latencies(
        self, config: SampleConfig, saved: Callable[[Latencies], Latencies] | None
    ) -> Latencies:
        """Return what the network that a training of a cell would have takes."""
        return self.trainings.latencies(config, saved)


@lru_cache(maxsize=1)  # once per process of a pool
def loaded(evaluator: SharedEvaluator) -> Search:
    """The search of the newest checkpoint, with its supernet."""
    folder = RunFolder.open(evaluator.weights)
    config = ConfigFile.read(evaluator.weights, "search")
    settings = saved_options(SearchConfig, config.config, {"device": evaluator.device_name})
    search: Search | None = None
    own = config.deciding(SearchConfig)

    def restore(state: dict[str, Any]) -> None:
        nonlocal search
        require_settings(state, own)
        # Anew for each checkpoint: one that did not fit may have deleted experts.
        plain = replace(settings, backend="reference")
        prepared = prepare(plain, evaluator.images, resumed=True)
        search = prepared.resumed(state).search
        restore_supernet(search, state)

    state = folder.checkpoints.newest(torch.device("cpu"), lambda _: None, restore)
    if state is None or search is None:
        raise ConfigError(
            f"{evaluator.weights} holds no checkpoint, so there are no weights to evaluate cells by; "
            "give the folder of a search that has trained"
        )
    return search


def saved_search(weights: Path) -> ConfigFile:
    """What the folder of `--weights` says of its search; raises for any other folder."""
    folder = RunFolder.open(weights).path
    kind = read_json(folder / CONFIG).get("kind")
    if kind in KINDS and kind != "search":
        raise ConfigError(
            f"--weights needs the folder of a search, and {weights} holds a {KINDS[kind]}; name one "
            "that xnas search made"
        )
    return ConfigFile.read(folder, "search")


def shared_evaluator(config: SampleConfig, images: Images) -> SharedEvaluator:
    """Return the evaluator of `--evaluator shared`."""
    if config.weights is None:
        raise ConfigError("the evaluator shared needs trained weights; name a search with --weights RUN")
    saved = saved_search(config.weights)
    if images.fingerprint() != saved.fingerprint:
        place = f", {saved.data}" if saved.data else ""
        raise ConfigError(
            f"the images are not those that the search in {config.weights} was trained on{place}; its "
            "weights can evaluate cells on those alone"
        )
    space = saved.config.get("space")
    if space != config.space:
        raise ConfigError(
            f"the search in {config.weights} is of the space {space}, not of {config.space}; give "
            f"--space {space}, or other --weights"
        )
    weights = config.weights.resolve()
    evaluator = SharedEvaluator(weights, config.device, images, training_evaluator(config, images))
    _require_all_experts(evaluator)
    return evaluator


def _require_all_experts(evaluator: SharedEvaluator) -> None:
    """Raise if cells could be drawn that the supernet no longer holds."""
    left, began = experts_left(loaded(evaluator))
    if left < began:
        raise ConfigError(
            f"{left} of {began} experts are left in the weights of {evaluator.weights}, so most cells "
            "could not be evaluated; give a search that deletes none, made with --no-wipeout or "
            "--method random"
        )


EVALUATORS.add(
    "shared",
    EvaluatorKind(shared_evaluator, "the weights of a search's supernet", whole_cells=True, shares=True),
)
