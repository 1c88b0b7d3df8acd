"""Settings hold what their annotations say, whether they come from the command line or from Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from reprlib import repr as brief
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from xnas.errors import ConfigError

LARGEST = 1 << 63  # no tensor, and no generator, holds more
PATHS = ("out", "data_dir", "truth")
CHANGEABLE = ("backend", "checkpoint_minutes", "compile", "data_dir", "device")
"""Settings that a run may be resumed with: they do not say which rounds it plays."""
MOST = {"cells": 1000, "channels": 1 << 16, "image_size": 4096, "batch_size": 1 << 20}
"""Settings beyond which nothing can be meant but a mistake, or to fill the memory."""

C = TypeVar("C")


def settings_again(kind: type[C], saved: dict[str, Any], changes: Mapping[str, Any]) -> C:
    """Settings as a run folder keeps them, but for `changes`, which are made for one call alone."""
    known = get_type_hints(kind)
    free = [name for name in CHANGEABLE if name in known]
    for name in changes:
        if name not in free:
            fault = "goes on with the {} that it has" if name in known else "has no setting {}"
            raise ConfigError(
                f"a run {fault.format(name.replace('_', '-'))}; leave it out: only "
                f"{', '.join(free).replace('_', '-')} may change"
            )
    config = _settings_from_json(kind, saved)
    return replace(config, **changes)  # type: ignore[type-var]


def _settings_from_json(kind: type[C], saved: dict[str, Any]) -> C:
    try:
        return kind(**saved)
    except TypeError as error:
        raise ConfigError(
            f"the settings in config.json are of another version of xnas: {str(error)[:200]}; start anew"
        ) from None
    except ConfigError as error:
        raise ConfigError(f"a setting in config.json cannot be used: {error}; restore it") from error


def require_kinds(config: Any) -> None:  # noqa: ANN401 - a frozen dataclass of settings
    """Make paths of strings, and refuse what the annotations do not allow."""
    for name in PATHS:
        if isinstance(getattr(config, name, None), str):
            object.__setattr__(config, name, Path(getattr(config, name)))
    for name, hint in get_type_hints(type(config)).items():
        value = getattr(config, name)
        if not any(_is_of(value, kind) for kind in _kinds(hint)):
            raise ConfigError(f"{name.replace('_', '-')} must be {told_kinds(hint)}, got {brief(value)}")
        if isinstance(value, int) and abs(value) >= LARGEST:
            limit = "above -2^63" if value < 0 else "below 2^63"
            raise ConfigError(f"{name.replace('_', '-')} must be {limit}, got {brief(value)}")
        if name in MOST and value is not None and value > MOST[name]:
            raise ConfigError(
                f"{name.replace('_', '-')} must be at most {MOST[name]:,}, got {brief(value)}"
            )


def told_kinds(hint: Any) -> str:  # noqa: ANN401 - any annotation
    """What an annotation allows, in words."""
    return " or ".join(_name_of(kind) for kind in _kinds(hint))


def _kinds(hint: Any) -> tuple[Any, ...]:  # noqa: ANN401 - any annotation
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _is_of(value: object, kind: Any) -> bool:  # noqa: ANN401 - any annotation
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if kind in (int, float) and isinstance(value, bool):
        return False
    return isinstance(value, int | float) if kind is float else isinstance(value, kind)


def _name_of(kind: Any) -> str:  # noqa: ANN401 - any annotation
    if get_origin(kind) is Literal:
        return ", ".join(get_args(kind))
    words: dict[Any, str] = {
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        type(None): "None",
    }
    return words.get(kind, getattr(kind, "__name__", str(kind)))


def require_least(name: str, value: int | None, least: int) -> None:
    """Raise for a number that is too small; None is left open."""
    if value is not None and value < least:
        raise ConfigError(f"{name.replace('_', '-')} must be at least {least}, got {value}")
