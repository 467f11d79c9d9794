# `make lab` and `make test` need nothing but Python 3.11 or newer: set-up is part of both.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

PYTHON ?= python3
VENV := .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
INSTALLED := $(VENV)/.installed
NOTEBOOKS := $(sort $(wildcard notebooks/*.ipynb))

# Jupyter, IPython and matplotlib keep their files in here, so that nothing outside is touched.
STATE := $(CURDIR)/.jupyter
export JUPYTER_CONFIG_DIR := $(STATE)/config
export JUPYTER_DATA_DIR := $(STATE)/data
export JUPYTER_RUNTIME_DIR := $(STATE)/runtime
export IPYTHONDIR := $(STATE)/ipython
export MPLCONFIGDIR := $(STATE)/matplotlib
export JUPYTER_PLATFORM_DIRS := 1
export PATH := $(CURDIR)/$(BIN):$(PATH)

# Loopback only, with a token, encrypted to the kernel; no news, no look for updates, no extensions
# from elsewhere.
LAB_FLAGS := --ip=127.0.0.1 \
	--KernelManager.transport_encryption=auto \
	--LabApp.news_url=None \
	--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate \
	--LabApp.extension_manager=readonly
ifeq ($(shell id -u),0)
LAB_FLAGS += --allow-root
endif
LAB_ARGS ?=

NBVAL := -p tests.regression.tolerance --nbval --nbval-current-env --nbval-cell-timeout=600

.PHONY: help setup lab test test-python test-notebooks test-ui bench bench-ui regen lint format clean

help:  ## list the targets (this one is the default)
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do printf '  make %-15s %s\n' "$$name" "$$text"; done

setup: $(INSTALLED)  ## create .venv and install the package with pinned versions, if needed

$(INSTALLED): constraints.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed, and $(PYTHON) is " + sys.version.split()[0] + ". Name another one: make PYTHON=python3.12 ...")'
	$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --constraint constraints.txt --editable '.[test]'
	@touch $@

lab: setup  ## open the series in JupyterLab, at the first notebook
	@mkdir -p "$(JUPYTER_CONFIG_DIR)/labconfig"
	@echo '{"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": false}}' > "$(JUPYTER_CONFIG_DIR)/labconfig/default_setting_overrides.json"
	jupyter lab $(LAB_FLAGS) --ServerApp.root_dir=notebooks --LabApp.default_url=/lab/tree/$(notdir $(firstword $(NOTEBOOKS))) $(LAB_ARGS)

test: test-python test-notebooks test-ui  ## run all tests: unit, notebooks, and in a browser if there is one

test-python: setup  ## run unit tests and doctests alone
	python -m pytest --ignore=tests/ui $(PYTEST_ARGS)

test-notebooks: setup  ## run the notebooks alone, and compare what they print
	python -m pytest $(NBVAL) --durations=0 --durations-min=5 $(NOTEBOOKS)

test-ui: setup  ## run the tests that drive JupyterLab in Chromium alone
	python -m pytest -rs tests/ui

bench: setup  ## measure every implementation of attention: table, JSON and plot in benchmarks/
	python -m chapter3_helpers.benchmarks $(BENCH_ARGS)

bench-ui: setup  ## measure how soon a key press reaches the screen, against ipywidgets.interact
	python -m tests.ui.benchmark

regen: setup  ## run every notebook and store what it prints; then read `git diff`
	python -m tests.regression.regenerate $(NOTEBOOKS)
	nbstripout --keep-output --keep-count --keep-id --extra-keys "metadata.widgets cell.metadata.execution" --verify $(NOTEBOOKS)

lint: setup  ## check style of code and notebooks
	ruff check .
	ruff format --check .
	nbstripout --keep-output --keep-count --keep-id --extra-keys "metadata.widgets cell.metadata.execution" --verify $(NOTEBOOKS)

format: setup  ## put code and notebooks into shape
	ruff check --fix .
	ruff format .

clean:  ## remove the environment and everything else that can be made again
	rm -rf $(VENV) .jupyter .pytest_cache .ruff_cache .hypothesis *.egg-info ui-screenshots
	find . -name __pycache__ -prune -exec rm -rf {} +
