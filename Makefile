# What a person types; CI types the same. Paths are relative, so the checkout may lie anywhere.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
READY := $(VENV)/.ready
PINS := requirements.txt requirements-test.txt constraints.txt
# A test that hangs has to fail by itself: CI's own limit would say less.
TEST_TIMEOUT_S := 600

.DEFAULT_GOAL := help
.PHONY: help setup eval test check gpu-test docs clean

help:
	@echo 'make setup     the virtual environment .venv with all that the tests need'
	@echo 'make eval      setup, then the main job: run_eval.py with configs/default.yaml'
	@echo 'make test      setup, then the tests'
	@echo 'make check     setup, then format, lint and types'
	@echo 'make docs      setup, then fill the generated blocks of the documents'
	@echo 'make gpu-test  the tests marked gpu, with a Python that holds torch: PYTHON=python3'
	@echo 'make clean     remove .venv and caches; results/ stays'

setup: $(READY)

# pip picks torch's build by itself: where its index has the CUDA build, that one. No index and no
# local version (+cpu) is named, so that the same line serves a machine with and without a GPU.
$(READY): $(PINS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "wanted: Python 3.11 or later, found: " + sys.version.split()[0] + "; name another: make setup PYTHON=python3.12")'
	@$(RUN) -c '' 2>/dev/null || $(PYTHON) -m venv --clear $(VENV)
	$(RUN) -m pip install --disable-pip-version-check -r requirements.txt -r requirements-test.txt -c constraints.txt
	@touch $@

eval: setup
	$(RUN) run_eval.py

test: setup
	$(RUN) -m pytest -q --timeout=$(TEST_TIMEOUT_S)

check: setup
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff check .
	$(RUN) -m mypy

docs: setup
	$(RUN) scripts/docs_blocks.py

# No setup: on a GPU machine torch is often there already, in the build that fits the driver.
gpu-test:
	$(PYTHON) -m pytest -q -m gpu

clean:
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find harness problems solutions scripts tests -name __pycache__ -type d -prune -exec rm -rf {} +
