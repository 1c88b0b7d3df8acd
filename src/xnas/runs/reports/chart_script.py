"""The script that draws charts in a page, kept between processes.

To bundle it takes a second, and every report needs the same one.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from pathlib import Path

from xnas.files import read_plain, whole_file
from xnas.report.page.vega import has_charts, script, version

MOST_BYTES = 1 << 24
LEAST_BYTES = 1 << 18
"""A kept script that is shorter is not whole."""
HINT = "the report has tables in place of charts; for charts: pip install 'xnas[report]'"


@cache
def chart_script() -> str | None:
    """The script, or None where the extra `report` is not installed."""
    if not has_charts():
        return None
    kept = _folder() / f"{version()}.js"
    with suppress(OSError, ValueError):
        found = read_plain(kept, MOST_BYTES).decode()
        if len(found) >= LEAST_BYTES:
            return found
    made = script()
    with suppress(OSError):  # a folder that cannot be written costs a second each time
        kept.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(kept) as file:
            file.write(made.encode())
    return made


def _folder() -> Path:
    """Where programs of this user keep what they can make again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "xnas"
