# Two commands do everything: `make demo` and `make test`.  Each sets up .venv where it is missing; nothing else is installed.

PYTHON ?= python3
VENV   := .venv
READY  := $(VENV)/.ready
BIN    := $(CURDIR)/$(VENV)/bin
CORES  ?= all

export PATH := $(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYTHONDONTWRITEBYTECODE :=       # else each of some hundred processes compiles all it imports: 3 s of torch in place of 1.3

.PHONY: setup demo test fast shipped clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    simulate a collection, search, train, evaluate; ends with a report (twelve to seventeen minutes on two cores)"
	@echo "make test    style, types, floors and all tests"
	@echo "make setup   set up .venv alone; the others do so too where it is missing"
	@echo "make fast    the tests that take less than a second each"
	@echo "make shipped make the networks of the package again: twelve runs, twenty-one hours on two cores without a GPU"
	@echo "make clean   remove results/demo and results/smoke, keep .venv"

setup: $(READY)
	@echo "ready: source $(VENV)/bin/activate"

demo: $(READY)
	snakemake --cores $(CORES) --configfile configs/demo.yaml --rerun-incomplete --quiet host

test: $(READY)
	ruff check . && ruff format --check --quiet .
	@mypy & types=$$!; python -m pytest -n auto --dist worksteal -rs; tests=$$?; wait $$types && exit $$tests

fast: $(READY)
	python -m pytest -n auto --dist worksteal -m "not slow"

SHIPPED = snakemake --cores $(CORES) --rerun-incomplete --configfile configs/shipped/shared.yaml configs/shipped

# Each run goes on from the networks of the one before.  Interrupted, the same command goes on where it was.
shipped: $(READY)
	for run in 1 2 3 4 5 6 7 8 9 10 11; do $(SHIPPED)/$$run.yaml --until ensemble || exit 1; done
	$(SHIPPED)/12.yaml

# torch first and by version: its CPU build is small, and the project's own range then asks for nothing larger.
# A new pip, and no byte code before it is needed: one minute instead of three.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v <= (3, 13) else "fovnet needs Python 3.11 to 3.13, this is %d.%d; try: make PYTHON=python3.12" % v)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --upgrade pip
	$(BIN)/python -m pip install --quiet --no-compile torch==2.13.0
	$(BIN)/python -m pip install --quiet --no-compile --editable ".[test]"
	@touch $(READY)

clean:
	rm -rf results/demo results/smoke .pytest_cache .mypy_cache .ruff_cache
