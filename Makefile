# Two commands do all the set-up: `make demo` and `make test`. Python 3.11 or newer and make are enough.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

LOCK := tests/requirements.lock

.PHONY: demo test faults lint audit pythons bench lock clean
.DEFAULT_GOAL := test

# From the lock, byte for byte; the project itself is one path, which needs nothing more.
$(VENV)/.installed: pyproject.toml $(LOCK)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $(LOCK)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

# The whole main job on a control plane of its own; the first time it builds that, which takes about ten minutes.
demo: $(VENV)/.installed
	$(BIN)/python -m tests.cluster.demo

test: $(VENV)/.installed
	$(BIN)/python -m pytest $(PYTEST_ARGS)

# Every fault at every request, and every stop in every step, more than an hour; FAULTS_ARGS=--write tells the README.
faults: $(VENV)/.installed
	$(BIN)/python -m tests.cluster.faults $(FAULTS_ARGS)

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The tests that need no cluster, on the other Pythons that kvobs is for, as far as they are here.
pythons: $(VENV)/.installed
	$(BIN)/python -m tests.pythons

# Known faults in what the lock pins.
audit: $(VENV)/.installed
	$(BIN)/python -m tests.audit

bench: $(VENV)/.installed
	$(BIN)/python -m tests.bench

# Pin anew what pyproject.toml asks for, for every Python that it allows. Older pins stay where they still do.
lock: $(VENV)/.installed
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
		--custom-compile-command 'make lock' --extra test --output-file $(LOCK) pyproject.toml

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
