# Each target does all of its own set-up in .venv; Python 3.11, pip, venv and make are enough.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q

# One thread per worker; every process shares one cache of compiled functions, and the byte code of
# modules, also where the machine is set not to write it: the tests start many processes.
ONE_THREAD := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=1 \
	NUMBA_CACHE_DIR=$(CURDIR)/.cache/numba FIELDGUIDE_CACHE=$(CURDIR)/.cache/fieldguide

.PHONY: demo test coverage check bench docs pages fuzz audit clean

demo: .venv/installed
	$(BIN)/fieldguide demo --out out/demo

test: .venv/installed-dev
	$(ONE_THREAD) $(BIN)/pytest -n 2 --dist worksteal

coverage: .venv/installed-dev
	$(ONE_THREAD) $(BIN)/pytest -n 2 --dist worksteal --cov --cov-report term:skip-covered

check: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/installed-dev
	$(BIN)/python benchmarks/run.py --out out/bench $(if $(DATA),--data $(DATA))

fuzz: .venv/installed-dev
	$(ONE_THREAD) $(BIN)/python -m tests.fuzz $(NAMES) --cases $(or $(CASES),1000000) --seconds $(or $(SECONDS),600)

audit: .venv/installed-dev
	$(BIN)/python -m tests.packaging.audit

docs: .venv/installed-docs
	$(ONE_THREAD) $(BIN)/sphinx-build -q -W docs out/site

pages: .venv/installed-dev
	$(BIN)/python docs/make.py

clean:
	rm -rf .venv .cache out docs/gallery docs/reference docs/results

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Fieldguide needs Python 3.11 or newer; name one with make PYTHON=…")'
	$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml | .venv/bin/python
	@echo "Installing into .venv (a minute or two the first time) …"
	$(PIP) install -e .
	@touch $@

.venv/installed-dev: pyproject.toml | .venv/bin/python
	@echo "Installing into .venv, with the tools for development …"
	$(PIP) install -e '.[dev]'
	@touch $@ .venv/installed

.venv/installed-docs: pyproject.toml | .venv/bin/python
	@echo "Installing into .venv, with the tools for the documentation …"
	$(PIP) install -e '.[docs]'
	@touch $@ .venv/installed
