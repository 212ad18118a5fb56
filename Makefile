# Everything runs from .venv, which `make setup` builds from uv.lock; `make help` lists the targets.
# Kept to what GNU make 3.81 (macOS) understands.

# Hundreds of processes import the same sources: each would compile them again.
unexport PYTHONDONTWRITEBYTECODE

PYTHON := .venv/bin/python
READY := .venv/.ready
PYTEST_ARGS ?=
# Tests are shared out among processes, one more than cores and at most four, so that what waits in
# one leaves room for the others. Those with whole bots start processes of their own: as many as cores.
PROCESSES := $(shell n=$$(getconf _NPROCESSORS_ONLN) && [ $$n -lt 4 ] && expr $$n + 1 || echo 4)
SHARED := --dist=worksteal --durations=20
# Tests on nodes wait most of their time, so two sets of nodes share them; a cluster of yours is one.
NODE_TESTS := $(if $(QUARTERMASTER_TEST_CLUSTER),,--numprocesses=2 --dist=loadfile --durations=20)

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-long test-browser states pictures film fuzz kills faults machine soak test-cluster test-node test-mlflow test-azure chart test-chart test-release scan sbom postgres prometheus strace lint types docs migration bench ci clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

setup: $(READY) ## build .venv from uv.lock; nothing to do when it is up to date
	@echo "Ready: .venv has the packages of uv.lock."

demo: $(READY) ## try the bot in a chat in your browser; DEMO_ARGS=--agent-view adds suggested prompts
	@if [ -t 1 ]; then $(PYTHON) -m bot playground --open $(DEMO_ARGS); \
	else $(PYTHON) -m bot playground --headless --scenario first-run; fi

test: $(READY) postgres prometheus ## run the tests; PYTEST_ARGS="tests/bot -k name" runs some of them
	@$(PYTHON) -m pytest $(or $(PYTEST_ARGS),-m "not slow" --numprocesses=$(PROCESSES) $(SHARED))

test-long: $(READY) postgres prometheus strace ## run whole stories with a real bot, and kill it everywhere
	@$(PYTHON) -m pytest $(or $(PYTEST_ARGS),-m slow --numprocesses=auto --maxprocesses=4 $(SHARED))

test-browser: $(READY) ## run the tests of the playground's page in a headless Chromium
	@$(PYTHON) -m pytest tests/browser $(PYTEST_ARGS)

states: $(READY) ## write what every card, form and Home says to tests/states/approved, for review
	@$(PYTHON) -m tests.states

pictures: $(READY) states ## take pictures of those that look otherwise now (Chromium); ALL=1 takes all
	@$(PYTHON) -m tests.states.pictures $(if $(ALL),all)

film: $(READY) ## film the playground's page for README (needs chromium and webp of Debian)
	@$(PYTHON) -m tests.browser.film docs/images/playground.webp

fuzz: $(READY) ## a million random commands and clicks (half an hour); SEED=7 repeats, ACTS=5000 is shorter
	@$(PYTHON) -m pytest tests/fuzz/test_fuzz.py -k random_acts -s \
		--fuzz-acts=$(or $(ACTS),1000000) --fuzz-seed=$(or $(SEED),0) $(PYTEST_ARGS)

machine: $(READY) ## check 500 random stories for what must never happen (half an hour); STORIES=20 is shorter
	@$(PYTHON) -m pytest tests/machine/test_bot_machine.py --timeout=0 \
		--machine-examples=$(or $(STORIES),500) $(PYTEST_ARGS)

kills: $(READY) postgres ## kill the bot at 200 random commits on SQLite and 200 on PostgreSQL (hours); SEED=7 repeats, KILLS=20 is shorter
	@$(PYTHON) -m pytest tests/world/test_commit_kills.py -s \
		--commit-kills=$(or $(KILLS),200) $(if $(SEED),--world-seed=$(SEED)) $(PYTEST_ARGS)

faults: $(READY) postgres ## restart, cut and stall PostgreSQL under two bots 40 times; SEED=7 repeats, FAULTS=8 is shorter
	@$(PYTHON) -m pytest tests/world/test_database_faults.py -s \
		--database-faults=$(or $(FAULTS),40) $(if $(SEED),--world-seed=$(SEED)) $(PYTEST_ARGS)

soak: $(READY) ## have everything fail at random under people at work for 8 hours; SEED=7 repeats, HOURS=0.5 is shorter
	@$(PYTHON) -m pytest tests/soak/test_soak.py -s \
		--soak-hours=$(or $(HOURS),8) $(if $(SEED),--world-seed=$(SEED)) $(PYTEST_ARGS)

test-cluster: $(READY) ## run the tests on a real control plane, built once (slow), or on that of KUBECONFIG
	@sh scripts/control_plane.sh $(PYTHON)
	@sh scripts/helm.sh $(PYTHON)
	@$(PYTHON) -m pytest tests/cluster $(PYTEST_ARGS)

test-node: $(READY) ## run the tests with real pods, on two nodes of their own, built once (slow); needs root
	@sh scripts/nodes.sh $(PYTHON)
	@$(PYTHON) -m pytest tests/node $(or $(PYTEST_ARGS),$(NODE_TESTS))

test-mlflow: $(READY) ## run the exports of runs on a real MLflow server, installed once (850 MB)
	@sh scripts/mlflow.sh $(PYTHON)
	@$(PYTHON) -m pytest $(or $(PYTEST_ARGS),tests/bot/training/mlflow)

test-azure: $(READY) ## run the tests of Azure NetApp Files in your own account; see docs/anf.md
	@$(PYTHON) -m pytest tests/live -k azure -rs $(PYTEST_ARGS)

postgres: # the tests that need a PostgreSQL server start their own from these programs
	@sh scripts/postgres.sh

prometheus: # as above
	@sh scripts/prometheus.sh

strace: # the tests of lost power see with it what the bot has synced
	@sh scripts/strace.sh

lint: $(READY) ## ruff, formatting, types and import contracts
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@PYTHONPATH=. .venv-lint/bin/lint-imports --no-logo

types: $(READY) ## check types only
	@.venv/bin/mypy

docs: $(READY) ## generate docs/settings.md, docs/commands.md, and the rights of kinds of runs in deploy/
	@$(PYTHON) -m bot.config.page docs/settings.md
	@$(PYTHON) -m bot commands > docs/commands.md
	@$(PYTHON) -m bot.training.kinds.rights deploy/helm/quartermaster/templates/access.yaml \
		deploy/kubernetes/10-access.yaml

chart: $(READY) ## render deploy/kubernetes from the Helm chart; builds Helm once (slow)
	@sh scripts/helm.sh $(PYTHON)
	@$(PYTHON) -m tests.deploy.rendering

test-chart: $(READY) prometheus ## lint, render and test the Helm chart; builds Helm once (slow)
	@sh scripts/helm.sh $(PYTHON)
	@$(PYTHON) -m pytest $(or $(PYTEST_ARGS),tests/deploy -k chart)

scan: $(READY) ## look up known vulnerabilities of the lock in OSV's database
	@sh scripts/scan.sh

sbom: $(READY) ## write dist/quartermaster.cdx.json, the components of the image in CycloneDX
	@mkdir -p dist
	@.venv-tools/bin/uv export --quiet --frozen --no-dev --format cyclonedx1.5 --output-file dist/quartermaster.cdx.json

test-release: $(READY) ## rehearse a release on a registry of its own; builds registry and cosign once (slow); needs root
	@sh scripts/helm.sh $(PYTHON)
	@sh scripts/nodes.sh $(PYTHON)
	@$(PYTHON) -m tests.release.programs
	@$(PYTHON) -m pytest tests/release $(PYTEST_ARGS)

migration: $(READY) ## write a migration for changed tables: make migration MESSAGE="add x to y"
	@$(PYTHON) scripts/new_migration.py "$(MESSAGE)"

bench: $(READY) ## measure, and name missed aims
	@failed=0; for script in benchmarks/[a-z]*.py; do \
		echo "$$script"; $(PYTHON) $$script --check || failed=1; done; exit $$failed

ci: ## run all checks that a change must pass
	@bash .ci/run

clean: ## remove .venv and the caches
	rm -rf .venv .venv-lint .venv-tools .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

$(READY): pyproject.toml playground/pyproject.toml uv.lock scripts/setup.sh
	@sh scripts/setup.sh
	@touch $(READY)
