# Every target works from a bare Debian 12 with `apt-get install make git`, as root.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON := .venv/bin/python
export PATH := $(CURDIR)/.venv/bin:$(PATH)
LOCAL_KUBECONFIG := /var/lib/switchyard/kubeconfig

# A KUBECONFIG of the caller's own means: use that cluster, start none.
ifeq ($(filter-out $(LOCAL_KUBECONFIG),$(KUBECONFIG)),)
export KUBECONFIG := $(LOCAL_KUBECONFIG)
START_CLUSTER := $(PYTHON) -m deploy.cluster up
else
START_CLUSTER := @echo "using the cluster of KUBECONFIG=$(KUBECONFIG)"
endif

.PHONY: help packages run up demo down check test unit integration cluster images verify-images \
        lock format bench-split bench-undo bench-engine bench-logits bench-attention bench-pool bench-loader bench-embed \
        bench-retrieval bench-questions bench-trace fuzz tracefs

help: ## what each target does
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 20

.venv/ready: requirements.lock
	@[ -e /usr/share/doc/python3-venv ] || (apt-get update -q && apt-get install -y -q python3-venv)
	/usr/bin/python3 -m venv .venv
	.venv/bin/pip install --quiet --no-deps --require-hashes -r requirements.lock
	@touch $@

packages: .venv/ready
	@$(PYTHON) -m deploy.cluster.packages
	@$(PYTHON) -m apps.engine.native
	@$(PYTHON) -m observability.native

run: packages ## the assistant on this machine, without Kubernetes (Ctrl-C ends it)
	$(PYTHON) -m apps.local

up: packages ## a Kubernetes with everything on it (or on the cluster of KUBECONFIG)
	$(START_CLUSTER)
	$(PYTHON) -m images build --push
	$(PYTHON) -m deploy.apply

down: .venv/ready ## stop the local cluster and leave nothing behind
	$(PYTHON) -m deploy.cluster down

demo: up ## the main job, from signed push to undo, with a timeline
	$(PYTHON) -m tests.demo

images: packages ## build and push the images, write images/images.lock
	$(START_CLUSTER)
	$(PYTHON) -m images build --push

verify-images: .venv/ready ## look into each built image: user, entry, setuid files
	$(PYTHON) -m images check

check: packages ## lint, types and the unit tests but for the slow ones
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy apps rollout images deploy observability
	$(PYTHON) -m pytest -q -n 2 -m 'not slow' tests/unit

integration: packages tests/.packages tracefs ## slow unit tests, and tests with a real PostgreSQL, Triton, git, registry and browser
	$(PYTHON) -m pytest -q -m slow tests/unit
	$(PYTHON) -m pytest -q tests/integration tests/browser

cluster: up tests/.packages tracefs ## tests on the running cluster, the demo among them
	$(PYTHON) -m pytest -q tests/cluster

test: check integration cluster ## everything

# The scheduler's tracepoints; where an init system runs, it has mounted them.
tracefs:
	@mountpoint -q /sys/kernel/tracing || mount -t tracefs nodev /sys/kernel/tracing

tests/.packages: tests/packages.txt
	@dpkg -s $$(cat $<) >/dev/null 2>&1 || (apt-get update -q && apt-get install -y -q $$(cat $<))
	@touch $@

# Programs that only a bench compares with or prints from.
tests/bench/.packages: tests/bench/packages.txt
	@dpkg -s $$(cat $<) >/dev/null 2>&1 || \
	  (apt-get update -q && apt-get install -y -q --no-install-recommends $$(cat $<))
	@touch $@

bench-split: up ## 10,000 lookups at 1, 12, 50 and 99 %
	$(PYTHON) -m tests.bench.split

bench-undo: up ## 20 undos under load, mid-split and after promotion
	$(PYTHON) -m tests.bench.undo

bench-engine: packages tests/.packages ## speed beside llama.cpp (the first run builds it: 8 minutes)
	$(PYTHON) -m tests.bench.engine

bench-logits: packages tests/.packages ## logits and perplexity against float64, beside llama.cpp
	$(PYTHON) -m tests.bench.logits

bench-pool: packages ## how well 1,000 mixed sessions use the KV pool, beside a buffer each
	$(PYTHON) -m tests.bench.pool

bench-attention: packages ## block-wise attention against the unblocked form, 128 to 8,192 tokens
	$(PYTHON) -m tests.bench.attention

bench-embed: packages ## the embedder beside plain ONNX Runtime and the package's C engine (15 minutes)
	$(PYTHON) -m tests.bench.embed

bench-loader: packages tests/.packages tests/bench/.packages ## rows, numbers and order of 100 printed reports, beside pdfplumber and pymupdf4llm
	$(PYTHON) -m tests.bench.loader

ROWS := 100000
bench-retrieval: packages ## filtered search of ROWS=100000 chunks beside FAISS and Qdrant (1000000: calibrates instead)
	$(PYTHON) -m tests.bench.retrieval --rows $(ROWS) $(if $(filter 1000000,$(ROWS)),--calibrate)

bench-questions: packages ## do questions find their passages, in both languages and across?
	$(PYTHON) -m tests.bench.ask

bench-trace: packages tests/.packages tracefs ## what tracing costs a request, beside py-spy and pyinstrument
	$(PYTHON) -m tests.bench.trace

RUNS := 100000
fuzz: packages ## RUNS=100000 runs of each fuzz target: GGUF, tokeniser, detokeniser, stop strings
	$(PYTHON) -m tests.fuzz --runs $(RUNS)

lock: .venv/ready ## pin every package again, with hashes
	.venv/bin/uv pip compile --universal --generate-hashes --no-emit-index-url \
	  --python-version 3.11 --all-extras pyproject.toml -o requirements.lock --quiet
	$(PYTHON) -m images requirements

format: .venv/ready ## put the code in shape
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .
