# The front door. `make help` lists what there is. PRESET=debug, asan, tsan or clang builds and tests another variant.
PRESET ?= release
JOBS ?= $(shell nproc)
BUILD := build/$(PRESET)

PREFIX ?= /usr/local

.PHONY: help demo test test-arm test-web test-engines web build python install bench peers bench-serve size fuzz format check-format lint clean bootstrap

help:                 ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

demo:                 ## build what it needs, run a first program, and train a net to read digits
	@tools/bootstrap library
	@tools/build $(PRESET) $(JOBS) demo train_digits
	@$(BUILD)/bin/demo
	@echo
	@$(BUILD)/bin/train_digits --expect 97 --save $(BUILD)/digits.pt

test: build           ## build, then run every test
	@tools/bootstrap test || echo "tests that need these packages are skipped"
	@tools/run_tests $(PRESET) $(JOBS)

test-arm: build       ## cross-compile for aarch64; unit tests and recorded operators there, under qemu
	@tools/bootstrap arm
	@tools/test_arm $(BUILD) $(JOBS)

test-engines: build   ## the Python package under Ray, Spark, Triton and MPI, which it installs under build/engines
	@tools/bootstrap engines
	@tools/test_engines $(BUILD)

build: bootstrap      ## compile everything but the benchmarks into build/<preset>
	@tools/build $(PRESET) $(JOBS)

python: bootstrap     ## wheels of the Python package, one for every CPython there is, into build/<preset>/wheels
	@tools/bootstrap python
	@cmake --preset $(PRESET) -DSCONCE_EXAMPLES_ONLY=OFF >/dev/null
	@cmake --build --preset $(PRESET) -j $(JOBS) -- --quiet python_package
	@tools/make_wheels $(BUILD)

web: bootstrap        ## WebAssembly: the package for Node and browsers, and a page that runs models, into build/web
	@tools/bootstrap web
	@tools/make_web $(JOBS)

test-web: build web   ## the web package and recorded operators under Node, the page in a browser
	@tools/test_web $(JOBS)

install: build        ## library, headers, bin/sconce, manual page and completion into PREFIX (/usr/local)
	@cmake --install $(BUILD) --prefix $(PREFIX)

bench: build          ## Google Benchmark programs, then the comparison with PyTorch
	@tools/bootstrap bench
	@cmake --preset $(PRESET) >/dev/null && cmake --build --preset $(PRESET) -j $(JOBS) -- benchmarks
	@bench/run $(BUILD)

peers: build          ## whole models against the best of PyTorch, TorchScript and ONNX Runtime; ARGS=--inductor, ...
	@tools/bootstrap bench
	@bench/environment peers
	@build/bench-venv/bin/python bench/peers.py --program $(BUILD)/bin/sconce $(ARGS)

bench-serve: build    ## sconce serve: overhead, requests a second against FastAPI, memory, overload, reloads; ARGS=--seconds 10, ...
	@bench/environment serve
	@cmake --build --preset $(PRESET) -j $(JOBS) -- --quiet sconce-bench-grpc
	@python3 -B bench/serve/serve.py --bin $(BUILD)/bin $(ARGS)

size: build           ## how large the libraries and programs are, stripped, and what libsconce is made of
	@tools/size $(BUILD)

fuzz: build           ## run every fuzzer for RUNS inputs (1000000); what fails is left in build/fuzz
	@tools/bootstrap fuzz
	@tools/fuzz $(or $(RUNS),1000000) $(JOBS)

format:               ## clang-format on every source
	@tools/bootstrap format
	@git ls-files -z '*.h' '*.cpp' | xargs -0 clang-format-19 -i

check-format:         ## is every tracked source as clang-format leaves it?
	@tools/bootstrap format
	@git ls-files -z '*.h' '*.cpp' | xargs -0 -n 50 -P $(JOBS) clang-format-19 --dry-run -Werror

lint: bootstrap check-format  ## clang-tidy and the format, without changing anything
	@tools/bootstrap lint
	@cmake --preset lint >/dev/null && cmake --build --preset lint -- --quiet
	@tools/lint build/lint $(JOBS)

clean:                ## remove build/
	@rm -rf build

bootstrap:
	@tools/bootstrap
	@case $(PRESET) in asan | tsan | clang) tools/bootstrap clang ;; esac
