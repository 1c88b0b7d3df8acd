"""Print pip constraints that pin every declared dependency to its lowest version.

`make test-oldest` installs xnas under these constraints, so that the declared lower bounds are tested.

    python .ci/oldest.py > constraints.txt
"""

import re
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)>=(?P<floor>[\w.]+)")


def lowest_versions(project: dict) -> dict[str, str]:
    """Lowest declared version of every dependency by name; a name in several lists has one floor."""
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    floors: dict[str, str] = {}
    for requirement in [item for items in lists for item in items]:
        match = REQUIREMENT.match(requirement)
        if match is None:
            raise SystemExit(
                f"{requirement!r} in pyproject.toml has no lower bound; write NAME>=VERSION"
            )
        name, floor = match["name"], match["floor"]
        if floors.setdefault(name, floor) != floor:
            raise SystemExit(
                f"{name} has two lower bounds in pyproject.toml: {floors[name]} and {floor}"
            )
    return floors


if __name__ == "__main__":
    declared = tomllib.loads(PYPROJECT.read_text(encoding="utf8"))["project"]
    print("\n".join(f"{name}=={floor}" for name, floor in sorted(lowest_versions(declared).items())))
