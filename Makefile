# Two commands matter: `make search` runs the main job, `make test` runs every fast check.
# Both set up what they need in .venv.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
OLDEST := .venv-oldest

.PHONY: search reproduce test lint unit coverage test-slow test-gpu test-oldest docs soak format clean

search: export OMP_NUM_THREADS = 1
search: $(READY)
	$(BIN)/xnas search digits --cells 3 --channels 4 --epochs 15 --batch-size 48 --relaxation 0.02

reproduce: $(READY)
	$(BIN)/xnas reproduce --out reproduction --overwrite

# Tests run in as many processes as there are cores, a file in one of them, each with one thread: small tensors
# are slower with more, and far slower when threads of several processes wait for each other.
test unit coverage test-slow test-gpu test-oldest soak: export OMP_NUM_THREADS = 1

PYTEST := $(BIN)/pytest --numprocesses auto --dist loadfile

# Tests of the layers that need neither runs nor data, without those of the fused kernels.
UNITS := $(filter-out $(wildcard tests/*/test_fused*.py), \
  $(wildcard $(addsuffix /test_*.py, $(addprefix tests/, theory optim methods nn space))))

test: lint unit
	$(PYTEST) --durations=20 $(addprefix --ignore=, $(UNITS))

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --num-workers auto

unit: $(READY)
	$(PYTEST) $(UNITS)

# The fast tests, with a floor under the coverage of src/xnas (`[tool.coverage.report]` in pyproject.toml).
coverage: $(READY)
	$(PYTEST) --cov --cov-report=term:skip-covered

# Slow tests and those of the results; then properties with random examples, where `make test` has fixed ones.
# A failure prints how to repeat it.
test-slow: $(READY)
	$(BIN)/pytest --durations=20 -m 'slow or evidence'
	$(PYTEST) -m 'hypothesis and not gpu' --hypothesis-profile=random

test-gpu: $(READY)
	$(BIN)/pytest -m gpu

# The fast tests with the lowest versions that pyproject.toml declares, in an environment of their own.
test-oldest: $(OLDEST)/.ready
	$(OLDEST)/bin/pytest --numprocesses auto --dist loadfile

# The documentation as a site: build/site/index.html. Warnings and dead links are errors.
docs: $(READY)
	$(BIN)/python .ci/docs/build.py build/site

# Kills runs hundreds of times, resumes and compares them; took 6 minutes on two cores.
soak: $(READY)
	PYTHONPATH=tests $(BIN)/python -m soak --document docs/reliability.md

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $(READY)

$(OLDEST)/.ready: pyproject.toml .ci/oldest.py
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python .ci/oldest.py > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python -m pip install --quiet --editable '.[dev]' --constraint $(OLDEST)/constraints.txt
	touch $@

clean:
	rm -rf .venv $(OLDEST) build dist reproduction
