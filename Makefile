# Everything runs in .venv, which the first target makes. PYTHON is the interpreter it is made with.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
JOBS ?= auto

.PHONY: conformance test test-container lint types format bench coverage protobuf clean

conformance: $(READY)  ## run the main job on the reference
	$(BIN)/pytest conformance -n $(JOBS)

test: $(READY) lint types  ## the kit's own tests, linters and type checks
	$(BIN)/python -m conformance lint
	$(BIN)/python -m conformance coverage
	$(BIN)/pytest tests --ignore tests/container --ignore tests/sockets -n $(JOBS) --dist worksteal
	$(BIN)/pytest tests/sockets -n 6 --dist worksteal

test-container: $(READY)  ## what needs a Docker engine and the image that .ci/reference-image.sh builds
	$(BIN)/pytest tests/container

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)  ## what the kit costs, as ratios
	$(BIN)/python -m conformance bench

protobuf: $(READY)  ## write the generated protobuf modules anew
	$(BIN)/python -m grpc_tools.protoc -Ivectors/spec --python_out=reference_impl/wire --pyi_out=reference_impl/wire \
		envelope.proto manifest.proto

coverage: $(READY)  ## clause → vectors → mutants
	$(BIN)/python -m conformance coverage

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed; set PYTHON=…")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $(READY)

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build
