"""Every module with logic of its own has a test file of its name: `a/b.py` has `tests/a/test_b.py`."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/xnas"
BRANCHES = (ast.If, ast.For, ast.While, ast.Try, ast.With, ast.Match, ast.IfExp, ast.BoolOp)
PLAIN_STATEMENTS = 2

# Modules that are tested under another name, with the reason.
ELSEWHERE = {
    "__main__.py": "tests/cli/test_cli.py starts the command",
}


def logic(path):
    """Whether a function of the module branches or has several statements."""
    functions = (
        node
        for node in ast.walk(ast.parse(path.read_text(encoding="utf8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return any(_does_something(function) for function in functions)


def _does_something(function):
    described = isinstance(function.body[0], ast.Expr) and isinstance(
        function.body[0].value, ast.Constant
    )
    body = function.body[described:]
    nodes = [node for statement in body for node in ast.walk(statement)]
    return len(body) > PLAIN_STATEMENTS or any(isinstance(node, BRANCHES) for node in nodes)


def modules():
    return sorted(
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if path.name != "__init__.py" and logic(path)
    )


def mirror(module):
    path = Path(module)
    return ROOT / "tests" / path.parent / f"test_{path.name}"


def test_every_module_with_logic_has_a_test_file_of_its_name():
    missing = {name for name in modules() if not mirror(name).exists()}
    assert missing == set(ELSEWHERE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(x):\n    '''Doc.'''\n    return x + 1\n", False),
        ("class A:\n    x: int = 1\n", False),
        ("def f(x):\n    return 1 if x else 2\n", True),
        ("def f(x):\n    a = x\n    b = a\n    return b\n", True),
        ("class A:\n    def f(self):\n        for _ in self: pass\n", True),
    ],
)
def test_logic_is_a_branch_or_several_statements(text, expected, tmp_path):
    path = tmp_path / "module.py"
    path.write_text(text, encoding="utf8")
    assert logic(path) is expected
