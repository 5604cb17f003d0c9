# make demo, make test: everything is set up on the way. Needs Python >= 3.11 and make.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin

.PHONY: demo demo-doctor test test-all lint bench bench-memory bench-accuracy clean

demo: .venv/installed
	$(BIN)/holdfast demo

# A training that stagnates, what is wrong with it, and the fix tried: a few minutes, and a picture.
demo-doctor: .venv/installed
	$(BIN)/holdfast demo --doctor --out holdfast-demo-doctor

# Two tests at a time: one alone seldom keeps more than one core busy.
test: lint
	$(BIN)/python -m pytest -m "not slow" --numprocesses 2 --dist loadfile

test-all: lint
	HYPOTHESIS_PROFILE=explore $(BIN)/python -m pytest

lint: .venv/installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: .venv/installed
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/doctor_time.py
	$(BIN)/python benchmarks/input_pipeline.py
	$(BIN)/python benchmarks/training_step.py
	$(BIN)/python benchmarks/plan_time.py
	$(BIN)/python benchmarks/predict_speed.py
	$(BIN)/python benchmarks/profile_cost.py
	$(BIN)/python benchmarks/scaling.py

bench-memory: .venv/installed
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/input_memory.py
	$(BIN)/python benchmarks/step_memory.py
	$(BIN)/python benchmarks/whole_training_memory.py
	$(BIN)/python benchmarks/gpu_memory.py

# Hours: of some thirty trainings each takes 5 to 15 minutes.
bench-accuracy: .venv/installed
	$(BIN)/python benchmarks/fine_tuning.py
	$(BIN)/python benchmarks/from_imagenet.py
	$(BIN)/python benchmarks/quantized_accuracy.py
	$(BIN)/python benchmarks/smaller_models.py
	$(BIN)/python benchmarks/search_rate.py

.venv/installed: pyproject.toml
	@test -n "$(PYTHON)" || { echo "Holdfast needs Python 3.11 or newer: make PYTHON=/path/to/python test"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv .pytest_cache .ruff_cache .mypy_cache .hypothesis
