PYTHON ?= python3
EVENBENCH = .venv/bin/evenbench
ENVIRONMENTS = .venv/bin/pytest tests/environments
# the lock is for this version of Python; newer ones get what pyproject.toml allows
LOCKED = $(shell $(PYTHON) -c 'import sys; print("docker/runner/requirements.txt" * (sys.version_info[:2] == (3, 11)))')

help:                      ## list these targets
	@awk -F ':.*## ' '/^[a-z].*:.*## / {printf "make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup:         .venv/dev   ## make .venv with evenbench and what its tests need

.venv/done: pyproject.toml docker/runner/requirements.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "evenbench needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv .venv
	$(LOCKED:%=.venv/bin/python -m pip install -qq --require-hashes -r %)
	.venv/bin/python -m pip install -qq --editable . && touch $@

.venv/dev: .venv/done
	.venv/bin/python -m pip install -qq 'pip==25.1.*'     # reads dependency groups; pip-tools knows it
	.venv/bin/python -m pip install -qq --group dev && touch $@

bench:         .venv/done  ## set up all that is needed, then measure today's four frameworks on this machine
	$(EVENBENCH) run quick --prove

bench-cluster: .venv/done  ## the study krisilias on three nodes of this machine, at SCALE=quick, small or paper
	$(EVENBENCH) run krisilias --scale $(or $(SCALE),quick)

bench-gpu:     .venv/done  ## image models on this machine's NVIDIA GPU
	$(EVENBENCH) run gpu

prove-gpu:                 ## prove the GPU path with PYTHON, or with each of STACKS="mine=PATH ..."
	$(PYTHON) -m tests.gpu $(STACKS:%=--stack %)

images:        .venv/done  ## build the images of all stacks and the runner's, or of STACKS="torch-1.7 runner"
	$(EVENBENCH) images $(STACKS)

check:         setup       ## ruff, the order of imports, and mypy: strict on the host side, by the adapters' contract on workloads/
	.venv/bin/ruff check . && .venv/bin/lint-imports --no-logo && .venv/bin/mypy

test-unit:     setup       ## the tests that need no engine, under a minute
	.venv/bin/pytest -n auto -m "not slow" tests/unit

test:          check setup ## checks, unit tests, fuzzing, and a pass over today's stacks in virtual environments; no engine, minutes
	.venv/bin/pytest -n auto -m "not slow" tests/unit tests/fuzz
	$(ENVIRONMENTS) -n 2 -m "not slow and not measures" && $(ENVIRONMENTS) -m "measures and not slow"

test-slow:     setup       ## what is slow or needs an engine or Chromium; THIRD=0, 1 or 2: a third of what is slow
	$(ENVIRONMENTS) tests/unit -n 2 -m "slow and not measures" $(THIRD:%=--third %)
	$(ENVIRONMENTS) -m "slow and measures" $(THIRD:%=--third %)
	.venv/bin/pytest tests --ignore=tests/unit --ignore=tests/fuzz --ignore=tests/environments $(THIRD:%=--third %)

clean:                     ## remove .venv and caches, never results/
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache *.egg-info

.PHONY: help setup bench bench-cluster bench-gpu prove-gpu images check test-unit test test-slow clean
.DEFAULT_GOAL := help
