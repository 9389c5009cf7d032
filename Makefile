# `make` alone says what there is. Every target sets up .venv by itself, again only when pyproject.toml changes.

SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed.stamp

.DEFAULT_GOAL := help
.PHONY: help setup demo notebooks test bench docs catalogue clean

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1

help:
	@echo "make demo    issue #682 walked through, then logistic regression on handwritten digits"
	@echo "make notebooks  the notebooks in examples/ executed, their outputs kept"
	@echo "make test    ruff, basedpyright and pytest"
	@echo "make bench   timings, side by side with hand-written NumPy and autograd"
	@echo "make fuzz    the slow tests; 50,000 random programs against NumPy, 200,000 against high precision (hours; SEED=… for others)"
	@echo "make docs    the site in docs/_build/html; make catalogue measures the rows of its catalogue anew (minutes)"
	@echo "make setup   only the environment in .venv (the others do this by themselves)"
	@echo "make clean   remove .venv and all caches"
	@echo
	@echo "PYTHON=…     the interpreter to use (Python 3.11 or later; found by itself where there is one)"

setup: $(STAMP)

demo: $(STAMP)
	@$(BIN)/python examples/demo.py

notebooks: $(STAMP)
	@$(BIN)/python examples/notebooks.py

test: $(STAMP)
	@echo "== ruff check"
	@$(BIN)/ruff check --quiet . && echo "clean"
	@echo "== ruff format --check"
	@$(BIN)/ruff format --quiet --check --diff . && echo "clean"
	@echo "== basedpyright"
	@$(BIN)/basedpyright
	@echo "== pytest"
	@$(BIN)/python -m pytest -n 2

bench: $(STAMP)
	@$(BIN)/python benchmarks/gradient_call.py
	@$(BIN)/python benchmarks/rewrite_scale.py
	@$(BIN)/python benchmarks/ac_match.py

fuzz: $(STAMP)
	@MUTATIONS=150 $(BIN)/python -m pytest -q -n0 -m "" tests/test_outside.py
	@$(BIN)/python -m pytest -n 2 -m "" --hypothesis-profile=fuzz
	@$(BIN)/python benchmarks/soundness.py --programs 50000 --seed $(or $(SEED),0) --processes 2
	@$(BIN)/python benchmarks/soundness.py --crossed --programs 20000 --seed $(or $(SEED),0) --processes 2
	@$(BIN)/python benchmarks/soundness.py --models --programs 20000 --seed $(or $(SEED),0) --processes 2
	@$(BIN)/python benchmarks/fuzz.py --programs 200000 --seed $(or $(SEED),0) --processes 2

docs: $(STAMP)
	@$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

catalogue: $(STAMP)
	@PYTHONPATH=docs $(BIN)/python -m extensions.rows

clean:
	@rm -rf $(VENV) docs/_build docs/catalogue docs/notebooks build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# An interpreter serves if it is recent enough and can make environments (Debian ships some that cannot).
$(STAMP): pyproject.toml
	@set -e; \
	usable() { "$$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }; \
	if ! { usable $(BIN)/python && $(BIN)/python -m pip --version >/dev/null 2>&1; }; then \
	  python=; \
	  for candidate in $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11 python); do \
	    if usable "$$candidate"; then python=$$candidate; break; fi; \
	  done; \
	  if [ -z "$$python" ]; then \
	    echo "No usable Python found: relgrad needs Python 3.11 or later with venv and ensurepip." >&2; \
	    echo "  cause: tried $(or $(PYTHON),python3 and python3.14 to python3.11 on the PATH)" >&2; \
	    echo "  cure:  install one (on Debian and Ubuntu with its python3-venv), or say make PYTHON=/path/to/python3" >&2; \
	    exit 1; \
	  fi; \
	  echo "Making $(VENV) with $$($$python --version)"; \
	  "$$python" -m venv --clear $(VENV); \
	fi; \
	echo "Installing relgrad and what its tests and examples need into $(VENV) (a minute or two)"; \
	$(BIN)/python -m pip install -qq --editable '.[test,examples,docs]' </dev/null; \
	$(BIN)/python -m pip install -qq --only-binary :all: 'maude>=1.3' 'matchpy>=0.5.5' </dev/null 2>/dev/null \
	  || echo "Without maude and matchpy, which have no wheel here: comparisons with them are skipped"; \
	touch $@
