# Everything a person or CI runs. Each target sets up what it needs; `make` alone lists them.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python

.DEFAULT_GOAL := help
.PHONY: help run test lint bench lock catalogue picture clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(VENV)/.run: requirements.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Parley needs Python 3.11 or newer; this is %s. Try: make PYTHON=python3.13 ..." % sys.version.split()[0])'
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	echo "$(CURDIR)/functions" > "$$($(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/parley-checkout.pth"
	touch $@

$(VENV)/.dev: $(VENV)/.run requirements-dev.txt
	$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	touch $@

run: $(VENV)/.run  ## serve the page and the API at http://127.0.0.1:8484
	$(PY) -m parley serve

test: $(VENV)/.dev  ## run every test (sets up a browser where there is none)
	$(PY) tests/web/browser.py
	$(PY) tests/web/browser.py
	$(PY) -m pytest -n 2 --dist loadfile

lint: $(VENV)/.dev  ## style, types, and which module may import which
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

bench: $(VENV)/.dev  ## show speed and size, as ratios within one run
	$(PY) tests/bench.py

catalogue: $(VENV)/.run  ## write CHECKS.md from the rules
	$(PY) -m parley checks --format markdown > CHECKS.md

picture: $(VENV)/.dev  ## make the page's picture in README
	$(PY) tests/picture.py

lock: $(VENV)/.dev  ## pin what requirements*.in ask for, with hashes
	$(VENV)/bin/uv pip compile -q --universal --generate-hashes --python-version 3.11 --custom-compile-command "make lock" requirements.in -o requirements.txt
	$(VENV)/bin/uv pip compile -q --universal --generate-hashes --python-version 3.11 --custom-compile-command "make lock" requirements-dev.in -o requirements-dev.txt

clean:  ## remove what the other targets made
	rm -rf $(VENV) .cache build dist
