# Each command is named by what it proves. Those that test Python need an environment made by `pip install ".[test]"`.
BUILD ?= build/core
FUZZ_SECONDS ?= 300
FUZZ_SEED ?= $(shell date +%s)

.PHONY: test oldest coverage lint types docs sanitize cross fuzz forge kills bench

test:      ## everything works
	pytest -n auto

oldest:    ## everything works with the oldest dependencies that pyproject.toml names
	.ci/oldest -n auto

coverage:  ## which lines the tests run
	.ci/coverage -n auto

lint:      ## the code is in shape
	ruff check . && ruff format --check .

types:     ## the public surface is typed
	mypy

docs:      ## every page builds, and no link is dead (the site is in build/site)
	python docs/prepare.py && zensical build --config-file mkdocs.yml --strict --clean

sanitize:  ## the C++ core has no memory error and no undefined behaviour
	cmake -S . -B $(BUILD)-sanitize -DPETIOLE_TESTS=ON -DPETIOLE_SANITIZE=ON
	cmake --build $(BUILD)-sanitize -j 2
	$(BUILD)-sanitize/core_tests

forge:     ## forged model files are refused or give probabilities
	python tests/files/forge.py --mutants 100000 --seed 0
	python tests/files/forge.py --strange

kills:     ## commands that are killed leave whole files, and a later run cleans up
	python tests/cli/kill_writers.py --kills 50

cross:     ## the C++ core works on other processors and systems, as far as emulators tell
	.ci/cross

# The extension is loaded into a Python that knows nothing of sanitizers, so their libraries come first, and the library
# that throws exceptions with them. Python does not free all it has at its end, which is no leak.
fuzz:      ## no random problem breaks a law or the core under sanitizers (needs `pip install nanobind`; build/fuzz is kept)
	cmake -S . -B build/fuzz -DPETIOLE_SANITIZE=ON -DPython_EXECUTABLE="$$(command -v python)" \
	  -Dnanobind_DIR="$$(python -m nanobind --cmake_dir)"
	cmake --build build/fuzz -j 2 --target _core
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so) \
	  $$($(CXX) -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONPATH=src \
	python -m tests.fuzz --core build/fuzz/_core.*.so --fits 1000000 --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED) --limit 60

bench:     ## how fast, beside the peers (needs `pip install ".[bench]"` and PETIOLE_DATA)
	python benchmarks/single_tree.py
	python benchmarks/smoothing_speed.py
