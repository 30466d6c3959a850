# Everything a person or CI runs. Each target sets up what it needs; `make` alone lists them.
PYTHON ?= python3
PORT ?= 8484
VENV := .venv
# Behind the machine's own: Node.js from requirements-infra.txt is for machines without one.
export PATH := $(PATH):$(CURDIR)/$(VENV)/bin
PY := $(VENV)/bin/python

.DEFAULT_GOAL := help
.PHONY: help run test lint bench lock catalogue picture deploy destroy clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*##/ { printf "%-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(VENV)/.run: requirements.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Parley needs Python 3.11 or newer; this is %s. Try: make PYTHON=python3.13 ..." % sys.version.split()[0])'
	$(PY) -m pip --version > /dev/null 2>&1 || { rm -rf $(VENV); $(PYTHON) -m venv $(VENV); }
	$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	echo "$(CURDIR)/functions" > "$$($(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/parley-checkout.pth"
	$(PY) -m compileall -q functions/parley  # the first run is then as fast as the second, and where none may write bytecode
	touch $@

$(VENV)/.dev: $(VENV)/.run requirements-dev.txt
	$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	touch $@

# uv, since aws-cdk-lib alone is 237 MB.
$(VENV)/.infra: $(VENV)/.dev requirements-infra.txt
	$(VENV)/bin/uv pip install --quiet --python $(PY) --require-hashes -r requirements-infra.txt
	touch $@

run: $(VENV)/.run  ## serve the page and the API at http://127.0.0.1:8484 (PORT=... for another)
	$(PY) -m parley serve --port $(PORT)

test: $(VENV)/.infra  ## run every test (sets up a browser where there is none)
	$(PY) tests/web/browser.py
	$(PY) -m pytest -n 2 --dist loadfile

lint: $(VENV)/.infra  ## style, types, and which module may import which
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/mypy --strict infra
	$(VENV)/bin/lint-imports

bench: $(VENV)/.infra  ## show speed and size, as ratios within one run
	$(PY) tests/bench.py

catalogue: $(VENV)/.run  ## write CHECKS.md from the rules
	$(PY) -m parley checks --format markdown > CHECKS.md

picture: $(VENV)/.dev  ## make the page's picture in README
	$(PY) tests/picture.py

LOCK = $(VENV)/bin/uv pip compile -q --universal --generate-hashes --custom-compile-command "make lock"
lock: $(VENV)/.dev  ## pin what the *.in files ask for, with hashes
	$(LOCK) --python-version 3.11 requirements.in -o requirements.txt
	$(LOCK) --python-version 3.11 requirements-dev.in -o requirements-dev.txt
	$(LOCK) --python-version 3.11 -c requirements-dev.txt requirements-infra.in -o requirements-infra.txt
	$(LOCK) --python-version 3.13 functions/requirements.in -o functions/requirements.txt
	$(LOCK) --python-version 3.13 tests/infra/ministack-requirements.in -o tests/infra/ministack-requirements.txt
	$(LOCK) --python-version 3.13 tests/infra/runtime-requirements.in -o tests/infra/runtime-requirements.txt
	$(LOCK) --python-version 3.11 tests/peers/mcp1/requirements.in -o tests/peers/mcp1/requirements.txt
	$(LOCK) --python-version 3.11 tests/peers/mcp2/requirements.in -o tests/peers/mcp2/requirements.txt
	$(LOCK) --python-version 3.11 tests/peers/a2a02/requirements.in -o tests/peers/a2a02/requirements.txt
	$(LOCK) --python-version 3.11 tests/peers/a2a03/requirements.in -o tests/peers/a2a03/requirements.txt
	$(LOCK) --python-version 3.11 tests/peers/a2a1/requirements.in -o tests/peers/a2a1/requirements.txt
	$(LOCK) --python-version 3.11 tests/peers/linters/requirements.in -o tests/peers/linters/requirements.txt

ARGS =
deploy: $(VENV)/.infra  ## put it on AWS (ARGS="-c name=value" for context)
	npx --yes aws-cdk@2 deploy $(ARGS)

destroy: $(VENV)/.infra  ## remove it from AWS
	npx --yes aws-cdk@2 destroy $(ARGS)

clean:  ## remove what the other targets made
	rm -rf $(VENV) .cache build dist cdk.out .hypothesis .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
	find functions infra tests -name __pycache__ -prune -exec rm -rf {} +
