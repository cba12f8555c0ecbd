# Hushgate. `make demo` and `make test` do all the set-up themselves and may be run as often as you like.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BENCH_READY := $(VENV)/.ready-bench
CHROMIUMS := chromium chromium-browser google-chrome google-chrome-stable
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
  --no-emit-index-url --no-header --no-annotate
export PYTHONUNBUFFERED := 1

.PHONY: help
help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or later is needed, $$($(PYTHON) --version) found; try make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && apt-get install -y -qq python3-venv && $(PYTHON) -m venv $(VENV); \
	  else echo "python3 -m venv failed: install the package python3-venv and try again" >&2; exit 1; fi; }

$(READY): requirements.lock pyproject.toml | $(VENV)/bin/python
	@echo "setting up $(VENV) from requirements.lock (once; about a minute) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(READY)

$(BENCH_READY): bench/bench.lock $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r bench/bench.lock
	@touch $(BENCH_READY)

.PHONY: setup
setup: $(READY) ## make the virtual environment, nothing else

.PHONY: demo
demo: $(READY) ## the main job on embedded servers: publish, decide, reply or stay silent, audit, review
	@$(BIN)/hushgate demo $(ARGS)

.PHONY: up
up: $(READY) ## the same servers, workers and review pages until Ctrl-C
	@$(BIN)/hushgate up $(ARGS)

.PHONY: test
test: $(READY) chromium ## all tests, on servers of their own and in a real browser
	@$(BIN)/python -m pytest $(ARGS)

# Without a browser and without the right to install one, everything else is tested, and the browser tests fail.
.PHONY: chromium
chromium:
	@[ -n "$${HUSHGATE_CHROMIUM:-}" ] || command -v $(CHROMIUMS) >/dev/null || \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "installing the package chromium for the browser tests (once; about a minute) ..."; \
	    export DEBIAN_FRONTEND=noninteractive; install() { apt-get update -qq \
	      && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null; }; \
	    install || install || echo "chromium could not be installed: the browser tests will fail" >&2; \
	  else echo "no Chromium: the browser tests will fail. Install the package chromium, or set HUSHGATE_CHROMIUM" \
	    "to the path of a Chrome or Chromium" >&2; fi

.PHONY: screenshots
screenshots: $(READY) chromium ## the pictures of docs/review.md, anew
	@$(BIN)/python -m tests.browser.screenshots

.PHONY: check
check: $(READY) ## format, lint, types, import contracts
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

.PHONY: fix
fix: $(READY) ## mend what format and lint can mend
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

.PHONY: bench
bench: $(READY) ## engine and pipeline beside plain Celery, in one run; JSON to out/
	@$(BIN)/python -m bench.engine

.PHONY: bench-audit
bench-audit: $(READY) ## lists and pages over five million decisions; JSON to out/ (half an hour, 25 GB)
	@$(BIN)/python -m bench.audit $(ARGS)

.PHONY: bench-rules
bench-rules: $(BENCH_READY) ## the rule matcher beside its peers, in one run; JSON to out/
	@$(BIN)/python -m bench.rules

.PHONY: schema
schema: $(READY) ## write docs/event.schema.json and .env.example anew
	@$(BIN)/hushgate schema event > docs/event.schema.json
	@$(BIN)/hushgate config example > .env.example

.PHONY: lock
lock: $(READY) ## resolve the dependencies again, for people and for the image
	@$(COMPILE) pyproject.toml --group dev -o requirements.lock
	@$(COMPILE) pyproject.toml -c requirements.lock -o deploy/runtime.lock
	@$(COMPILE) --group bench -c requirements.lock -o bench/bench.lock
	@echo 'hatchling>=1.27' | $(COMPILE) - -c requirements.lock -o deploy/build.lock

.PHONY: clean
clean: ## remove the virtual environment and caches
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache out
