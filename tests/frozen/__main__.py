"""`python -m frozen --check [NAME ...]` compares; `python -m frozen --renew NAME ...` freezes anew."""

import json
import sys

from frozen.digests import HERE, comparable, differences, frozen
from frozen.records import NAMES, record, show


def check(names: list[str]) -> int:
    """Compare records with the frozen ones; the exit status is 1 if one differs."""
    failed = False
    for name in names:
        try:
            apart = differences(*comparable(frozen(name), record(name)))
        except AssertionError as error:
            apart = [str(error)]
        failed = failed or bool(apart)
        show(f"{name}: {'DIFFERS' if apart else 'as frozen'}")
        for line in apart:
            show(f"  {line}")
    return int(failed)


def renew(names: list[str]) -> None:
    """Freeze records as they are now."""
    for name in names:
        text = json.dumps(record(name), indent=1, ensure_ascii=False)
        (HERE / f"{name}.json").write_text(text + "\n", encoding="utf8")
        show(f"{name}: renewed")


def main(arguments: list[str]) -> int:
    """Do what the arguments ask for."""
    action, names = (arguments or [""])[0], arguments[1:]
    unknown = [name for name in names if name not in NAMES]
    if action not in {"--check", "--renew"} or unknown or (action == "--renew" and not names):
        show(f"usage: python -m frozen --check [NAME ...] | --renew NAME ...\nnames: {' '.join(NAMES)}")
        return 2
    if action == "--check":
        return check(names or list(NAMES))
    renew(names)
    return 0


sys.exit(main(sys.argv[1:]))
