"""A comparison as a small file of TOML.

data = ["digits"]
space = "nasbench201"
methods = ["xnas", "darts"]
seeds = "0-4"
truth = "cifar10.csv"

[search]                      # settings of every search by a method
epochs = 20

[entries."without dropout"]   # an entry with settings of its own
method = "xnas"
skip_dropout = 0
"""

from __future__ import annotations

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

from xnas.errors import ConfigError
from xnas.files import read_plain
from xnas.registry import known_names
from xnas.runs.comparison.config import CompareConfig
from xnas.words import short

MOST_BYTES = 1 << 20
DATA = "data"
SECTIONS = ("entries", "search", "sample", "train")


def read_toml(path: Path) -> tuple[dict[str, Any], list[str] | None]:
    """The settings of a file for `CompareConfig`, and its data; None if it names none.

    Raises for a file that cannot be read and for keys that are not known, with the nearest.
    """
    try:
        saved = tomllib.loads(read_plain(path, MOST_BYTES).decode())
    except FileNotFoundError:
        raise ConfigError(f"the comparison {path} is not there; give the path of a TOML file") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"cannot read the comparison {path}: {short(error)}; correct it") from error
    known = [declared.name for declared in fields(CompareConfig)] + [DATA]
    for key in saved:
        if key not in known:
            raise ConfigError(f"{path} has the key {key!r}; {known_names(key, known)}")
    for section in SECTIONS:
        wanted = dict if section != "train" else (dict, str)
        if not isinstance(saved.get(section, {}), wanted):
            raise ConfigError(f"{path}: {section} must be a table, such as [{section}]; write it so")
    data = saved.pop(DATA, None)
    names = [data] if isinstance(data, str) else data
    if names is not None and not (isinstance(names, list) and all(isinstance(n, str) for n in names)):
        raise ConfigError(f'{path}: data must be names or folders, such as ["digits"], got {data!r}')
    return saved, names


def is_toml(data: object) -> bool:
    """Whether what was given as data is the file of a comparison."""
    return isinstance(data, str | Path) and Path(data).suffix == ".toml"
