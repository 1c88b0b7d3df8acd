"""Methods by name, each with what a search and `xnas methods` need to know of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from xnas.methods.game import Game
from xnas.methods.protocol import ExpertAdvice, Method
from xnas.methods.recipe import NO_RECIPE, Recipe, Stage
from xnas.records import Ledger
from xnas.registry import Registry

MethodFactory = Callable[[Mapping[str, nn.Parameter], Game], Method]
RecipeOf = Recipe | Callable[[str], Recipe]
"""A recipe, or a function that gives one for the name of a search space."""
StagesOf = Sequence[Stage] | Callable[[str], Sequence[Stage]]


@dataclass(frozen=True, kw_only=True, slots=True)
class RegisteredMethod:
    """A method as it was registered; calling it makes one."""

    factory: MethodFactory
    recipe: RecipeOf = NO_RECIPE
    stages: StagesOf = ()
    summary: str = ""
    """One line: what it does."""
    paper: str = ""
    """Authors, year and number in arXiv."""
    costs: str = ""
    """Passes in a round, as `W + M`: W by the weights, M by the mixtures, J by both, F forward only."""
    measures: bool = False
    """Whether measurements at the end of epochs decide which operations and edges a cell keeps."""
    guarded: bool = False
    """Whether a search space's guards against collapse, and its number of epochs, are the defaults."""

    def __call__(self, mixtures: Mapping[str, nn.Parameter], game: Game) -> Method:
        """Return a method that learns `mixtures`, parameters (forecasters, experts) by kind of cell."""
        return self.factory(mixtures, game)

    def recipe_on(self, space: str) -> Recipe:
        """Return the recipe on the search space of this name."""
        return self.recipe(space) if callable(self.recipe) else self.recipe

    def stages_on(self, space: str) -> tuple[Stage, ...]:
        """Return the stages on the search space of this name; empty: the whole search is one."""
        return tuple(self.stages(space) if callable(self.stages) else self.stages)


class Methods(Registry[RegisteredMethod]):
    """Methods by name. A method is added as a factory, with what else is known of it."""

    def add(
        self,
        name: str,
        value: MethodFactory,
        *,
        replace: bool = False,
        recipe: RecipeOf = NO_RECIPE,
        stages: StagesOf = (),
        summary: str = "",
        paper: str = "",
        costs: str = "",
        measures: bool = False,
        guarded: bool = False,
    ) -> None:
        """Register a factory (mixtures by kind, game) -> method; `replace` an entry of that name."""
        entry = RegisteredMethod(
            factory=value,
            recipe=recipe,
            stages=stages,
            summary=summary,
            paper=paper,
            costs=costs,
            measures=measures,
            guarded=guarded,
        )
        super().add(name, entry, replace=replace)


METHODS = Methods("method")
"""Name -> factory (mixtures by kind, game) -> method; add your own with `METHODS.add`."""


def ledgers(method: Method, mixtures: Mapping[str, Tensor]) -> dict[str, Ledger]:
    """The ledger of every mixture, by kind of cell; empty for methods that keep none."""
    if not isinstance(method, ExpertAdvice):
        return {}
    return {kind: method.ledger(mixture) for kind, mixture in mixtures.items()}
