# Everything that a person does with a checkout. `make` alone lists it.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

BIN := .venv/bin
STAMP := .venv/.ready
PEERS := build/bench-venv/.ready
LOCK = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock'

.PHONY: help setup check test in-lab beside soak conformance bench docs demo format manifests lock clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 13

setup: $(STAMP) ## make .venv with everything that work on the project needs

# A fresh Debian has no ensurepip, perhaps no Python at all. The system's own Python comes first, because others that stand
# in PATH (pyenv and the like) move away under an environment.
$(STAMP): requirements/bootstrap.txt requirements/dev.txt pyproject.toml
	@fits() { command -v "$$1" >/dev/null && "$$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }; \
	find_python() { for p in /usr/bin/python3 python3 python3.11; do if fits "$$p"; then echo "$$p"; return; fi; done; }; \
	python="$$(find_python)"; \
	if [ -z "$$python" ]; then \
		if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
			echo "Python 3.11 or newer with venv is missing. On Debian, as root: apt-get install python3-venv" >&2; exit 1; fi; \
		echo "Installing python3-venv"; apt-get -qq update; \
		DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends python3-venv; \
		python="$$(find_python)"; \
		[ -n "$$python" ] || { echo "This system's Python is older than 3.11" >&2; exit 1; }; \
	fi; \
	if ! fits .venv/bin/python; then echo "Making .venv with $$python"; "$$python" -m venv --clear .venv; fi
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bootstrap.txt
	$(BIN)/uv pip sync --quiet --require-hashes requirements/dev.txt
	$(BIN)/uv pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

check: setup ## format, lint, types, layers and the fast tests: seconds
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest --quiet --ignore=tests/lab -m 'not long'

test: setup ## everything: check, docs, then the tests in the lab, and beside them those that are long
	$(MAKE) check
	$(MAKE) docs
	$(MAKE) --no-print-directory --jobs=2 --keep-going in-lab beside

in-lab: setup
	$(BIN)/pytest tests/lab

# They take what the lab leaves of the machine. What they print comes in one piece.
beside: setup
	@mkdir -p build
	@code=0; nice -n 19 $(BIN)/pytest --ignore=tests/lab -m long >build/beside.log 2>&1 || code=$$?; \
		echo; cat build/beside.log; exit $$code

soak: setup ## everything that is long, whole: all seeds and pairs of crashes, every kill point of the lab
	$(BIN)/pytest --ignore=tests/lab -m long --whole
	$(BIN)/pytest tests/lab --whole

conformance: setup ## Kubernetes' own tests of load balancers in a lab; a table, reports in build/conformance
	$(BIN)/python -m mooring.lab.conformance

bench: setup $(PEERS) ## the benchmarks; prints tables, writes build/bench.json
	$(BIN)/python -m bench

# The clients that ours is set beside, in an environment of their own: what they depend on is no business of ours.
$(PEERS): requirements/bench.txt | setup
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python build/bench-venv
	$(BIN)/uv pip sync --quiet --require-hashes --python build/bench-venv/bin/python requirements/bench.txt
	@touch $@

docs: setup ## the documentation, into build/docs; a warning is an error
	$(BIN)/sphinx-build --builder html --fresh-env --fail-on-warning --keep-going --nitpicky --quiet docs build/docs

demo: setup ## bring the lab up and show it at work; leaves it running
	$(BIN)/python -m mooring.lab.demo

format: setup ## put the code in order
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

manifests: setup ## write the files in deploy/kubernetes anew
	$(BIN)/python -m mooring.manifests deploy/kubernetes

lock: setup ## choose the versions in requirements/ again
	$(LOCK) --upgrade requirements/bootstrap.in --output-file requirements/bootstrap.txt
	$(LOCK) --upgrade pyproject.toml --extra lab --group dev --constraints requirements/bootstrap.txt \
		--output-file requirements/dev.txt
	$(LOCK) --upgrade pyproject.toml --constraints requirements/dev.txt --output-file requirements/runtime.txt
	$(LOCK) --upgrade requirements/bench.in --output-file requirements/bench.txt
	for list in openstack go; do $(LOCK) --upgrade src/mooring/lab/data/$$list/requirements.in \
		--output-file src/mooring/lab/data/$$list/requirements.txt; done

clean: ## end every lab, remove what was made; caches outside of the checkout stay
	if [ -x $(BIN)/mooring ]; then $(BIN)/mooring lab down --all; fi
	rm -rf build dist .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests docs -name __pycache__ -prune -exec rm -rf {} +
