# Two commands matter: `make search` runs the main job, `make test` runs every fast check.
# Both set up what they need in .venv.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
OLDEST := .venv-oldest

.PHONY: search reproduce test test-slow test-gpu test-oldest soak format clean

search: export OMP_NUM_THREADS = 1
search: $(READY)
	$(BIN)/xnas search digits --cells 3 --channels 4 --epochs 15 --batch-size 48 --relaxation 0.02

reproduce: $(READY)
	$(BIN)/xnas reproduce --out reproduction --overwrite

# Tests run in as many processes as there are cores, a file in one of them, each with one thread: small tensors
# are slower with more, and far slower when threads of several processes wait for each other.
test test-slow test-gpu test-oldest soak: export OMP_NUM_THREADS = 1

test: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest --numprocesses auto --dist loadfile --durations=20

test-slow: $(READY)
	$(BIN)/pytest --durations=20 -m slow

test-gpu: $(READY)
	$(BIN)/pytest -m gpu

# The fast tests with the lowest versions that pyproject.toml declares, in an environment of their own.
test-oldest: $(OLDEST)/.ready
	$(OLDEST)/bin/pytest --numprocesses auto --dist loadfile

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
