"""The option `--experts-lr`: one learning rate for all mixtures, or one for each kind of cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from xnas.errors import ConfigError
from xnas.words import alternatives

if TYPE_CHECKING:
    from xnas.methods.game import Rate

LARGEST = 1e9  # of rates and rewards: beyond it sums of rewards lose their meaning
Derived = Literal["paper", "matched", "matched-by-kind"]
EACH: tuple[Derived, ...] = ("paper", "matched")
"""Rates that one kind of cell may have by itself."""
KINDS = ("normal", "reduction")


def parse_experts_lr(given: str | float) -> Rate | dict[str, Rate]:
    """Read `matched`, `0.1` or a pair such as `paper,0.1`, which gives a rate for each kind of cell.

    >>> parse_experts_lr("paper,0.1")
    {'normal': 'paper', 'reduction': 0.1}
    """
    parts = [f"{given:g}"] if isinstance(given, float) else str(given).split(",")
    if len(parts) == 1:
        return _rate(parts[0], given, get_args(Derived))
    if len(parts) != len(KINDS):
        raise ConfigError(
            f"--experts-lr must be one rate, or two as NORMAL,REDUCTION, got {len(parts)} in {given!r}"
        )
    return {kind: _rate(part, given, EACH) for kind, part in zip(KINDS, parts, strict=True)}


def _rate(text: str, given: str | float, names: tuple[Derived, ...]) -> Rate:
    for name in names:
        if text.strip() == name:
            return name
    try:
        number = float(text if isinstance(given, str) else given)
    except ValueError:
        number = 0.0
    if not 0 < number < LARGEST:
        wanted = alternatives([*names, f"a number above 0 and below {LARGEST:g}"])
        where = f" in {given!r}" if isinstance(given, str) and given != text else ""
        raise ConfigError(f"--experts-lr must be {wanted}, got {text!r}{where}")
    return number
