# Each command is named by what it proves. Those that test Python need an environment made by `pip install ".[test]"`.
BUILD ?= build/core

.PHONY: test lint types docs sanitize forge kills bench

test:      ## everything works
	pytest -n auto

lint:      ## the code is in shape
	ruff check . && ruff format --check .

types:     ## the public surface is typed
	mypy

docs:      ## every page builds, and no link is dead (the site is in build/site)
	mkdocs build --strict

sanitize:  ## the C++ core has no memory error and no undefined behaviour
	cmake -S . -B $(BUILD)-sanitize -DPETIOLE_TESTS=ON -DPETIOLE_SANITIZE=ON
	cmake --build $(BUILD)-sanitize -j 2
	$(BUILD)-sanitize/core_tests

forge:     ## forged model files are refused or give probabilities
	python tests/forge.py --mutants 100000 --seed 0
	python tests/forge.py --strange

kills:     ## commands that are killed leave whole files, and a later run cleans up
	python tests/kill_writers.py --kills 50

bench:     ## how fast, beside the peers (needs `pip install ".[bench]"` and PETIOLE_DATA)
	python benchmarks/single_tree.py
	python benchmarks/smoothing_speed.py
