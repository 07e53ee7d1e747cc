# Two commands for newcomers: `make demo` writes some text, `make test` runs the tests.
# Both set up a virtual environment in .venv by themselves.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check lint types imports zoo docs bench clean help

help:
	@echo "make demo    write text with the embedded model"
	@echo "make test    run the tests"
	@echo "make check   all a reviewer runs: format, lint, types, import contract, zoo, tests"
	@echo "make docs    build the documentation as a site, in build/site"
	@echo "make bench   compare speed with transformers on a random GPT-2 124M (installs torch)"
	@echo "make clean   remove the virtual environment"

demo: $(VENV)/.demo
	$(BIN)/linnet generate --prompt "Once upon a time" --echo --max-tokens 80 --temp 0.8 --top-k 40 --seed 7

# Side by side first; then, alone, what measures time or memory, or interrupts itself.
test: $(VENV)/.test
	$(BIN)/python -m pytest -m "not alone" -n auto --maxprocesses 8 --dist worksteal
	$(BIN)/python -m pytest -m alone

check: lint types imports zoo test

lint: $(VENV)/.test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/linnet fmt --check stdlib nest tests/programs linnet/cli/starter

types: $(VENV)/.test
	$(BIN)/mypy

imports: $(VENV)/.test
	$(BIN)/lint-imports

zoo: $(VENV)/.test
	$(BIN)/linnet nest check --strict

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

bench: $(VENV)/.bench
	$(BIN)/python bench/decode_and_prefill.py

$(VENV)/.demo: pyproject.toml scripts/setup
	sh scripts/setup "$(PYTHON)" "$(VENV)" "." demo

$(VENV)/.test: pyproject.toml scripts/setup
	sh scripts/setup "$(PYTHON)" "$(VENV)" ".[test]" test demo

$(VENV)/.docs: pyproject.toml scripts/setup
	sh scripts/setup "$(PYTHON)" "$(VENV)" ".[docs]" docs

$(VENV)/.bench: pyproject.toml scripts/setup
	sh scripts/setup "$(PYTHON)" "$(VENV)" ".[test,bench]" bench test demo

clean:
	rm -rf $(VENV)
