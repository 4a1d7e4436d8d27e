# Every target installs what it needs: only Python 3.11 or newer and make are required.
#   make demo PYTHON=python3.13    chooses the interpreter for a new .venv
PYTHON ?= python3
BIN := .venv/bin
VLLM := .vllm/bin
BENCHES := $(filter-out %_cluster.py %_vllm.py,$(sort $(wildcard benchmarks/bench_*.py)))
# Compile once while installing: otherwise the first start of every command pays for it.
export UV_COMPILE_BYTECODE = 1
# Also our own modules, even if the shell turns this off: otherwise every process that a test starts recompiles them.
export PYTHONDONTWRITEBYTECODE =
PYTEST := $(BIN)/python -m pytest
SPHINX := $(BIN)/sphinx-build -q -n -W --keep-going -d build/doctrees
# Tests wait for processes and servers a quarter of their time: three workers keep two cores busy.
WORKERS := -n 3 --dist worksteal
# uv is fast; pip installs the same pinned, hashed packages if uv is missing or cannot reach an index.
install = { test -x $(BIN)/uv && $(BIN)/uv pip install --quiet --python $(or $(2),$(BIN))/python $(1); } \
	|| $(or $(2),$(BIN))/python -m pip install -qq --disable-pip-version-check $(1)

ENGINE_TESTS := tests/models/hf tests/models/reference tests/generators/test_diffusers.py tests/inspection/test_identity.py \
	tests/inspection/test_model_aids.py tests/cli/test_local.py tests/cli/test_attention.py tests/test_package.py
GATED := stylisticbias --faces 12 --attributes eyewear,accessories,hair_color --exact --fashion-base portrait

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test gate coverage gallery test-long test-durations test-slow test-faults test-objects test-engine test-browser engine test-cluster test-vllm check release audit bench bench-engine bench-pictures bench-making bench-gate bench-profile bench-view bench-corpus bench-servers bench-vllm bench-objects bench-cluster calibration calibration-kinds calibration-editor calibration-reference calibration-stopping reference lock upgrade format clean check-formats docs docs-look docs-links

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | while IFS='|' read -r a b; do printf '%-20s %s\n' "$$a" "$$b"; done

demo: .venv/.demo ## audit the reference model, no network or GPU; ends with demo/report.html
	$(BIN)/facevalue demo --out demo

test: check ## formatting, lint, types, then all tests except long and slow ones
	$(PYTEST) $(WORKERS) -m "not slow and not long" --durations=10
	@test -e .venv/.engine || echo "Skipped: tests of the local engine (hf/ models, diffusers, dlib). 'make test-engine' installs what they need and runs them."
	@command -v chromium >/dev/null || echo "Skipped: tests of pages in a browser. Install Chromium (Debian: apt install chromium), then 'make test-browser'."

gate: .venv/.demo ## hold the reference model against docs/how-to/limits.toml: without planted bias it is within, with it beyond
	rm -rf build/gate
	$(BIN)/facevalue run $(GATED) --model reference/bias-0 --out build/gate/bias-0
	$(BIN)/facevalue run $(GATED) --model reference --out build/gate/reference
	$(BIN)/facevalue gate build/gate/bias-0 --limits docs/how-to/limits.toml --junit build/gate/bias-0.xml
	$(BIN)/facevalue gate build/gate/reference --limits docs/how-to/limits.toml; test $$? -eq 3

coverage: .venv/.dev ## the same tests, half as long again: which lines they reach; at least 90%
	$(PYTEST) $(WORKERS) -m "not slow" --cov --cov-report=term-missing:skip-covered --cov-fail-under=90

engine: .venv/.engine ## install what the local engine needs: PyTorch and transformers

test-engine: .venv/.engine ## tests of the local engine only: models, generators and checks of pictures in PyTorch, ONNX and dlib
	$(PYTEST) $(WORKERS) -m "not slow" $(ENGINE_TESTS)

test-browser: .venv/.dev ## tests of pages in Chromium only
	$(PYTEST) $(WORKERS) -m "not slow" $(shell grep -rl CHROMIUM --include='test_*.py' tests)

test-cluster: .venv/.cluster ## runs on a Ray cluster, and kills of workers and drivers: docs/results/cluster-faults.csv
	$(PYTEST) tests/cluster
	$(BIN)/python -m tests.cluster.faults --out docs/results/cluster-faults.csv

test-vllm: .vllm/.done ## a real vLLM on the CPU with a tiny model: an environment of its own (3.5 GB), minutes
	$(VLLM)/python -m pytest tests/vllm tests/models/test_vllm.py

check: .venv/.dev ## formatting, lint and types only
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --num-workers 2

.PHONY: viewer
viewer: viewer/node_modules/.package-lock.json ## check, test and build the page of `facevalue view` into the package; needs Node 20 and npm
	cd viewer && npm run --silent check && npm run --silent test && npm run --silent build

viewer/node_modules/.package-lock.json: viewer/package-lock.json
	cd viewer && npm ci --silent
	@touch $@

gallery: .venv/.dev ## pages of every kind of run in Chromium: build/gallery/index.html, with what axe finds; minutes
	$(BIN)/python -m tests.gallery

docs: .venv/.docs ## the documentation site in build/docs; a warning is an error
	$(SPHINX) -b html docs build/docs
	@echo "build/docs/index.html"

docs-look: docs ## every page of the site in Chromium, wide, dark and on a phone, with what axe finds; half an hour
	$(BIN)/python -m tests.site.look build/docs

docs-links: .venv/.docs ## links of the documents to other places, each asked; needs the network
	$(SPHINX) -b linkcheck docs build/docs-links

test-long: .venv/.dev ## tests that take seconds each: most commands and studies from end to end
	$(PYTEST) $(WORKERS) -m "long and not slow"

test-durations: .venv/.dev ## all of both, and the list of those that are long: tests/data/long_tests.txt
	$(PYTEST) $(WORKERS) -p tests.durations -m "not slow"

test-slow: .venv/.dev ## tests that take minutes
	$(PYTEST) -m slow

test-faults: .venv/.dev ## kills, broken files, hostile servers: docs/results/faults.csv; about ten minutes
	$(BIN)/python -m tests.faults --out docs/results/faults.csv

test-objects: .venv/.dev ## runs in object storage, killed a thousand times: docs/results/object-faults.csv; about ten minutes
	$(BIN)/python -m tests.faults.objects --out docs/results/object-faults.csv

release: .venv/.release ## wheel and source archive, built twice and compared, SBOM (CycloneDX) and SHA256SUMS in dist/
	rm -rf dist && mkdir dist
	$(BIN)/cyclonedx-py requirements requirements/demo.txt --pyproject pyproject.toml --mc-type library \
		--output-reproducible --of JSON -o dist/facevalue.cdx.json
	$(BIN)/python -m tools.release dist

audit: .venv/.release ## known vulnerabilities of all pinned packages; needs the network
	$(BIN)/pip-audit --strict --disable-pip --require-hashes -r requirements/demo.txt -r requirements/dev.txt -r requirements/engine.txt -r requirements/cluster.txt

bench: .venv/.dev ## every benchmark but that of clusters; results in benchmarks/results/
	@set -e; for bench in $(BENCHES:.py=); do \
		echo "== $$bench"; $(BIN)/python -m "$$(echo $$bench | tr / .)"; done

bench-engine: .venv/.engine ## speed and memory of the local engine only, on one core; about ten minutes
	$(BIN)/python -m benchmarks.bench_engine
	$(BIN)/python -m benchmarks.bench_open
	$(BIN)/python -m benchmarks.exactness

bench-vllm: .vllm/.done ## vLLM beside the local engine on one core, same model and prompts
	$(VLLM)/python -m benchmarks.bench_vllm $(ARGS)

bench-pictures: .venv/.engine ## many pictures at once on the local engine only: passes, and what is done beside the model
	$(BIN)/python -m benchmarks.bench_pictures

bench-making: .venv/.dev ## making pictures only: beside an instant generator, memory, checks, plans
	$(BIN)/python -m benchmarks.bench_making

bench-view: .venv/.dev ## the viewer on five million answers only: opening, each kind of click, memory; ARGS="20M,20F" for fewer
	$(BIN)/python -m benchmarks.bench_view $(ARGS)

bench-gate: .venv/.dev ## time of a gate on estimates that exist only
	$(BIN)/python -m benchmarks.bench_gate

bench-profile: .venv/.dev ## profile, reports and pack of five studies with five million answers only; ten minutes; ARGS="FACES FOLDER" keeps the runs
	$(BIN)/python -m benchmarks.bench_profile $(ARGS)

bench-corpus: .venv/.dev ## speed and memory of counting a training corpus only
	$(BIN)/python -m benchmarks.bench_corpus

bench-servers: .venv/.dev ## what asking a server costs only; ARGS="--before COMMIT" compares
	$(BIN)/python -m benchmarks.bench_servers $(ARGS)

bench-objects: .venv/.dev ## what the driver of a run in object storage does itself only
	$(BIN)/python -m benchmarks.bench_objects

bench-cluster: .venv/.cluster ## what a second worker adds on a Ray cluster, and what the driver costs
	$(BIN)/python -m benchmarks.bench_cluster
	$(BIN)/python -m benchmarks.simulate_cluster

calibration: .venv/.demo ## false findings, coverage and power of all studies, by planted answers; goes on where it was stopped
	@rm -f build/hiring-screen.toml build/caption-assistant.toml; mkdir -p build
	$(BIN)/facevalue new build/hiring-screen.toml
	$(BIN)/facevalue new build/caption-assistant.toml --like caption-assistant
	$(BIN)/facevalue calibrate stylisticbias vignette visbias modscan counterfactuals build/hiring-screen.toml build/caption-assistant.toml --repetitions $(or $(REPETITIONS),30) --processes $(or $(PROCESSES),2) --keep build/calibration --out docs/results/calibration-power.csv --out docs/results/calibration-power.md
	$(BIN)/python -m benchmarks.coverage --out docs/results/coverage.csv

calibration-kinds: .venv/.demo ## the same of every kind of take of own studies, in small designs; goes on where it was stopped
	$(BIN)/facevalue calibrate benchmarks/kinds/*.toml --sizes 1 --repetitions $(or $(REPETITIONS),12) --processes $(or $(PROCESSES),2) --keep build/calibration --out docs/results/calibration-kinds.csv --out docs/results/calibration-kinds.md

check-formats: .venv/.dev ## packs against the schema of Every Eval Ever, the citation against CFF's; of their packages only the schemas are used
	$(BIN)/python -m pip download -qq --no-deps --only-binary=:all: --python-version 3.13 every-eval-ever==0.3.0 -d build/every-eval-ever
	$(BIN)/python -m zipfile -e build/every-eval-ever/*.whl build/every-eval-ever
	$(BIN)/python -m pip download -qq --no-deps --only-binary=:all: cffconvert==2.0.0 -d build/cffconvert
	$(BIN)/python -m zipfile -e build/cffconvert/*.whl build/cffconvert
	$(BIN)/python -m pytest -q -n 0 tests/pack tests/test_package.py -k "every_eval_ever or citation"

calibration-editor: .venv/.dev ## planted editors: side effects found, and what is found where none are; goes on where it was stopped
	$(BIN)/python -m benchmarks.editor_audits --out docs/results/calibration-editor.csv --audits $(or $(REPETITIONS),100)

calibration-reference: .venv/.dev ## audits of the reference model: what was planted, what it has learned, what is estimated; MODEL=reference/bias-0 for a variant
	$(BIN)/python -m benchmarks.reference_audits --out $(if $(MODEL),build,docs/results)/calibration-reference.csv --audits $(or $(REPETITIONS),200) --model $(or $(MODEL),reference)

calibration-stopping: .venv/.dev ## runs that stop early: what they find where nothing is, in each study, and what they save
	$(BIN)/python -m benchmarks.early_stopping --out docs/results/early-stopping.csv --audits $(or $(REPETITIONS),100)

.PHONY: calibration-profile
calibration-profile: SIDE_BY_SIDE = $(if $(PROCESSES),--processes $(PROCESSES)) $(if $(MINUTES),--minutes $(MINUTES))
calibration-profile: .venv/.dev ## profiles of five studies: what they find where nothing is planted, and of what is; goes on where it was stopped
	$(BIN)/python -m benchmarks.profile_audits --out docs/results/profile-audits.csv --audits $(or $(REPETITIONS),100) --null $(or $(NULL),200) $(SIDE_BY_SIDE)
	$(BIN)/python -m benchmarks.profile_reference --out docs/results/profile-reference.csv --audits $(or $(REPETITIONS),100) $(SIDE_BY_SIDE)

reference: .venv/.engine ## train the reference model into build/reference, or resume; ARGS="--bias 2" for a variant
	$(BIN)/python -m reference.train build/reference $(ARGS)

lock: .venv/.base ## rewrite requirements/*.txt from pyproject.toml, keeping versions that still fit
	$(call compile,requirements/uv.txt,requirements/uv.in)
	$(call compile,requirements/dev.txt,--extra dev --extra servers pyproject.toml requirements/build.in)
	$(call compile,requirements/demo.txt,-c requirements/dev.txt pyproject.toml requirements/build.in)
	$(call compile,requirements/release.txt,requirements/release.in)
	$(call compile,requirements/docs.txt,-c requirements/dev.txt requirements/docs.in)
	$(call compile,requirements/cluster.txt,-c requirements/dev.txt requirements/cluster.in)
	$(call compile,requirements/engine.txt,-c requirements/dev.txt --override requirements/without-torch.in requirements/engine.in)
	$(call compile,requirements/vllm.txt,--override requirements/without-torch-vision.in pyproject.toml requirements/vllm.in)

upgrade: UPGRADE := --upgrade
upgrade: lock ## like lock, with the newest versions

format: .venv/.dev ## format, and fix what lint can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## remove the environments, caches and demo output (never runs/)
	rm -rf .venv .vllm demo build dist viewer/node_modules viewer/build .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage .coverage.*
	find src tests benchmarks reference tools -name __pycache__ -prune -exec rm -rf {} +

# Universal: one lock for Python 3.11 to 3.14 on every platform. Nothing that needs torch may enter (tests/test_package.py).
compile = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --annotation-style line \
	--custom-compile-command 'make lock' $(UPGRADE) --output-file $(1) $(2)

# Each stamp is written last, so that an interrupted set-up starts over.
.venv/.base: requirements/uv.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "FaceValue needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1 | head -n 1)." >&2; \
		echo "Choose another: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@echo "Setting up .venv (once) ..."
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv || { \
		echo "'$(PYTHON) -m venv' failed. On Debian and Ubuntu: apt install python3-venv." >&2; exit 1; }
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -r requirements/uv.txt \
		|| echo "uv could not be installed; using pip, which is slower." >&2
	@touch $@

.venv/.demo: .venv/.base requirements/demo.txt pyproject.toml
	@echo "Installing the pinned packages ..."
	@$(call install,-r requirements/demo.txt)
	@$(call install,--no-deps --no-build-isolation --editable .)
	@touch $@

.venv/.dev: .venv/.demo requirements/dev.txt
	@$(call install,-r requirements/dev.txt)
	@touch $@

.venv/.docs: .venv/.dev requirements/docs.txt
	@$(call install,-r requirements/docs.txt)
	@touch $@

.venv/.release: .venv/.dev requirements/release.txt
	@$(call install,-r requirements/release.txt)
	@touch $@

.venv/.engine: .venv/.dev requirements/torch.in requirements/engine.txt
	@echo "Installing PyTorch and transformers ..."
	@$(BIN)/python -c 'import torch' 2>/dev/null || $(BIN)/python -m pip install -qq --disable-pip-version-check -r requirements/torch.in
	@$(call install,-r requirements/engine.txt)
	@touch $@

.venv/.cluster: .venv/.dev requirements/cluster.txt
	@echo "Installing Ray ..."
	@$(call install,-r requirements/cluster.txt)
	@touch $@

# vLLM pins what other packages want otherwise, and PyTorch: it shares nothing with .venv but uv.
.vllm/.done: .venv/.base requirements/torch.in requirements/vllm.txt tools/vllm_on_cpu.py
	@echo "Setting up .vllm (once, 3.5 GB) ..."
	@$(BIN)/python -m venv --clear .vllm
	@$(VLLM)/python -m pip install -qq --disable-pip-version-check -r requirements/torch.in
	@$(VLLM)/python -m pip install -qq --disable-pip-version-check --no-deps torchvision==0.28.0
	@$(call install,--no-deps -r requirements/vllm.txt,$(VLLM))
	@$(call install,--no-deps --no-build-isolation --editable .,$(VLLM))
	@$(VLLM)/python tools/vllm_on_cpu.py
	@touch $@
