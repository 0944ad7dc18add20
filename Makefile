# `make` builds, `make help` lists the rest. The work is done by the presets of CMakePresets.json.
JOBS ?= $(shell nproc)
SOURCES = $(shell find bench examples include src tests \( -name '*.cc' -o -name '*.h' -o -name '*.cu' \))
CLANG_FORMAT ?= clang-format-14
FUZZ_SECONDS ?= 60
space := $(subst ,, )

.PHONY: build configured packages demo test bench conformance asan tsan fuzz install format format-check layers help
.DEFAULT_GOAL := build

build: configured        ## build into build/, programs in build/bin/; installs missing packages first
	@cmake --build --preset default -j $(JOBS)

configured: packages
	@cmake --preset default >build/configure.log || { cat build/configure.log; exit 1; }

packages:                ## install the Debian packages of tools/packages.txt that are missing
	@tools/install_packages
	@mkdir -p build

demo: configured         ## train a CNN on the embedded digits, on a cluster of one ps and two workers, in about a minute
	@cmake --build --preset default -j $(JOBS) --target carillon_tool mnist_cnn_distributed
	@build/bin/carillon launch --ps 1 --workers 2 -- mnist_cnn_distributed --steps 800 --learning_rate 1e-3 --plot build/demo_loss.png

test: build              ## run all tests
	@ctest --preset default -j $(JOBS)

conformance: build       ## compare every op with TensorFlow, in a virtual environment under build/
	@tests/conformance/run.py --jobs $(JOBS)

bench: build             ## measure against TensorFlow and PyTorch: bench/run
	@bench/run

asan: packages           ## run the unit tests (or TESTS) under AddressSanitizer and UndefinedBehaviorSanitizer
tsan: packages           ## run the unit tests (or TESTS) under ThreadSanitizer
asan tsan:
	@mkdir -p build/$@
	@cmake --preset $@ >build/$@/configure.log || { cat build/$@/configure.log; exit 1; }
	@cmake --build --preset $@ -j $(JOBS) --target $(or $(TESTS),unit_tests)
	@ctest --preset $@ -j $(JOBS) $(if $(TESTS),-R '^($(subst $(space),|,$(strip $(TESTS))))$$')

fuzz: packages           ## fuzz whatever reads bytes from outside, FUZZ_SECONDS (60) for each target; needs clang
	@tools/install_packages clang-16 libclang-rt-16-dev
	@mkdir -p build/fuzz
	@cmake --preset fuzz >build/fuzz/configure.log || { cat build/fuzz/configure.log; exit 1; }
	@cmake --build --preset fuzz -j $(JOBS) --target fuzz_targets
	@tools/fuzz build/fuzz --seconds $(FUZZ_SECONDS)

install: build           ## install under PREFIX (default /usr/local), for find_package(Carillon)
	@cmake --install build $(if $(PREFIX),--prefix $(PREFIX))

format: packages         ## format the C++ sources in place
	@$(CLANG_FORMAT) -i $(SOURCES)

format-check: packages   ## fail when a source is not formatted
	@$(CLANG_FORMAT) --dry-run --Werror $(SOURCES)

layers:                  ## fail when a folder includes one that stands above it in the layers
	@tools/check_layers

help:                    ## this list
	@awk -F ':.*## ' '/^[a-z -]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile
