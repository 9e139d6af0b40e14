# Two commands matter: `make demo` and `make test`. Both need only Python 3.11+, make and git.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
# Two test processes side by side: each with one thread for its matrix products.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
# Each file of tests by one process, in the order of tests/conftest.py, which has the long ones first.
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: demo lab test test-all test-machines browser warm lint docs wheel bench format clean

demo: $(STAMP)              ## the main job, told on data that ships with scikit-learn
	$(BIN)/maxmargin demo

lab: $(STAMP)               ## the page where points can be dragged
	$(BIN)/maxmargin lab

test: browser               ## lint, types, layers, and the whole suite
	@$(MAKE) --no-print-directory -j 2 lint warm
	$(ONE_THREAD) $(PYTEST)

test-all: lint warm browser ## the same with seventy-five times as many examples per property
	$(ONE_THREAD) MAXMARGIN_TESTS=thorough $(PYTEST)

test-machines: $(STAMP)     ## as on other processors, Pythons and versions, in an hour or two; MACHINES="one-core lowest" takes some
	$(BIN)/python -m tests.machines $(MACHINES)

browser: $(STAMP)           ## Chromium for the tests of the lab: found, or installed where that is possible
	$(BIN)/python -m tests.browser

warm: $(STAMP)              # kernels are compiled once, before two processes need them at the same time
	@$(ONE_THREAD) $(BIN)/python -m tests.warm

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(STAMP)              ## the documentation, with its pictures and gallery; a warning is an error
	$(BIN)/pip install --quiet --disable-pip-version-check -e ".[docs]"
	$(ONE_THREAD) $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "$(CURDIR)/docs/_build/html/index.html"

wheel: $(STAMP)             ## wheel and sdist in dist/, and the wheel tried in an empty environment
	$(BIN)/pip install --quiet --disable-pip-version-check build
	$(BIN)/python -m tests.packed

bench: $(STAMP)             ## ratios against peers, and docs/benchmarks.md; QUICK=1 takes under 3 minutes
	$(BIN)/python -m benchmarks.peers.install $(if $(QUICK),--quick)
	$(BIN)/python -m benchmarks $(if $(QUICK),--quick)

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(STAMP): pyproject.toml
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || \
	  { echo "maxmargin needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e ".[test]"
	@$(BIN)/pip install --quiet --disable-pip-version-check -e ".[peers]" || \
	  echo "LIBLINEAR was not installed (it needs a C++ compiler): the test that predicts with it is skipped."
	@touch $(STAMP)

clean:
	rm -rf $(VENV) .machines build dist docs/_build docs/gallery docs/api/generated .mypy_cache .ruff_cache .pytest_cache .hypothesis \
	  .import_linter_cache maxmargin-demo.html
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
