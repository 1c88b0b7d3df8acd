"""Tools have known ranges, the version has one home, and hooks and workflows run what `make` runs."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest
import yaml

import xnas

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
TOOLS = (
    *("build", "furo", "hypothesis", "ipython", "mypy", "myst-parser", "pre-commit", "pytest"),
    *("pytest-xdist", "pyyaml", "ruff", "sphinx"),
)


@pytest.fixture
def oldest():
    spec = importlib.util.spec_from_file_location("oldest", ROOT / ".ci" / "oldest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_oldest_versions_are_the_lower_bounds_of_every_list(oldest):
    project = {
        "dependencies": ["torch>=2.11,!=2.13.*"],
        "optional-dependencies": {"dev": ["ruff>=0.17,<1"]},
    }
    assert oldest.lowest_versions(project) == {"torch": "2.11", "ruff": "0.17"}


@pytest.mark.parametrize(
    ("requirements", "fault"),
    [
        (["numpy"], "'numpy' in pyproject.toml has no lower bound"),
        (["a>=1", "a>=2"], "a has two lower bounds"),
    ],
)
def test_a_dependency_without_one_lower_bound_is_refused(oldest, requirements, fault):
    with pytest.raises(SystemExit, match=fault):
        oldest.lowest_versions({"dependencies": requirements, "optional-dependencies": {}})


def test_every_dependency_has_a_lower_bound_and_every_tool_an_upper_one(oldest):
    assert set(TOOLS) < set(oldest.lowest_versions(PROJECT))
    for requirement in PROJECT["optional-dependencies"]["dev"]:
        if re.split(r"[><=!]", requirement)[0] in TOOLS:
            assert ",<" in requirement, f"{requirement} needs an upper bound"


def test_the_version_has_one_home_and_the_changelog_describes_it():
    assert PROJECT["dynamic"] == ["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    headings = re.findall(r"^## \[(.*?)\]", changelog, flags=re.MULTILINE)
    assert next(name for name in headings if name != "Unreleased") == xnas.__version__


def test_hooks_before_a_commit_are_checks_of_make_test():
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"]
    for hook in repository["hooks"]:
        program, *arguments = hook["entry"].split()
        command = " ".join([program.replace(".venv/bin", "$(BIN)"), *arguments[:1]])
        assert f"\t{command}" in MAKEFILE, (
            f"the hook {hook['id']} runs {command}, which `make test` does not"
        )


def test_the_hosted_workflow_runs_targets_of_make_on_every_declared_python():
    jobs = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text("utf-8"))["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert {"make test", "make test-oldest"} <= set(commands)
    for command in commands:
        assert is_target(command.removeprefix("make ")), command
    declared = [
        c.rsplit(" ", 1)[1] for c in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", c)
    ]
    assert jobs["newest"]["strategy"]["matrix"]["python"] == declared


def test_targets_that_contributors_should_make_exist():
    named = re.findall(r"`make ([\w-]+)`", (ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    assert [target for target in named if not is_target(target)] == []
    assert len(named) > 5


def is_target(name):
    return re.search(rf"^([\w-]+ )*{name}( [\w-]+)*:", MAKEFILE, flags=re.MULTILINE) is not None
