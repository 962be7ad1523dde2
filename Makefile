PYTHON ?= python3
BIN := .venv/bin

.PHONY: test check venv peers golden

test: venv peers
	$(BIN)/python -m pytest -n 2 --dist loadgroup

check: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

golden: venv  ## write the expected SAM files anew; look at the difference before you commit it
	$(BIN)/python -m pytest -q tests/test_golden.py --update-golden

venv: .venv/installed

peers:
	bash tests/install_peers.sh

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@
