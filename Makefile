# Everything starts with `make demo` or `make test`; both set up what they need in .venv and say what they do.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
TF221  := .venv-tf221
RELEASE := .venv-release
BIN    := $(VENV)/bin
# Python compiles what is imported; pip would compile all of TensorFlow.
# What it compiled is kept: where images forbid it, each import of TensorFlow takes three times as long, and tests make hundreds.
export PYTHONDONTWRITEBYTECODE :=
PIP    := pip install --quiet --no-compile --disable-pip-version-check
# One process for each core: most tests keep one busy. At most four, as each holds a TensorFlow. A file's tests share one process and
# its fixtures; files start in the order given. A process that dies fails its test and is not replaced: pytest-xdist 3.8 then hangs.
# `make test WORKERS=0` runs all in pytest's own process, as a debugger needs it.
WORKERS ?= auto
# tests/conftest.py: of a test with several lists of parameters the diagonal is run, of that the first and the last case, on
# 2.21 the first. `make test CASES=` runs the whole diagonal, `CASES=--every-case` each combination.
CASES ?= --most=2
PYTEST  := -m pytest $(CASES) --numprocesses=$(WORKERS) --maxprocesses=4 --dist=loadfile --no-loadscope-reorder --max-worker-restart=0
NATIVE := runtime/native/librecmigrate.so
NATIVE_SOURCES := $(wildcard $(foreach part,store store/* ops,$(addprefix runtime/native/$(part)/,*.h *.cc)))

.PHONY: help setup horovod demo docs check hooks test test-tf221 wheel-test release lint types tidy bench soak sanitize horovod-tests clean

# TensorFlow 2.15.1's oneDNN thread pool was seen to die at random in batch matmuls (migrate/verify/workers.py has the trace).
demo: export TF_ENABLE_ONEDNN_OPTS = 0

help:
	@echo "make demo        convert, prove and train the example models; writes demo-output/report.html"
	@echo "make docs        the documentation site, in build/site: strict, its links checked"
	@echo "make check       what was changed, in a minute: ruff, clang-format, mypy, its tests (SINCE=main: on a branch)"
	@echo "make test        all tests (TensorFlow 2.15.1, Paddle 2.6.2 as the oracle, native tests)"
	@echo "                 CASES=--every-case: each combination of a test's parameters, not two of them"
	@echo "make test-tf221  the native, runtime, rewriter and property tests again on TensorFlow 2.21, same compiled library"
	@echo "make horovod     build Horovod into the environment, for ranks in v1 sessions and Estimator; its tests run where it is there"
	@echo "make lint types  ruff, clang-format, the contracts of .importlinter, mypy --strict"
	@echo "make hooks       git lays out files before each commit"
	@echo "make tidy        clang-tidy over the native library, where its files are not those that passed"
	@echo "make bench       the yardstick benchmarks (see benchmarks/README.md)"
	@echo "make soak        what is slow and seldom finds anything, before a release: sanitizers, faults, kill loops, fuzzing, each"
	@echo "                 combination of parameters and switches; tests/soak/results.tsv says when each part passed"
	@echo "                 PARTS=\"sanitizers fuzz\": these alone"
	@echo "make release     the site, source distribution and manylinux wheels (x86_64, aarch64) in dist/, installed in new environments as"
	@echo "                 users do; an hour or more. INSTALLS=\"[dataset]\": this one alone"
	@echo "make clean       remove the environments and everything built"

$(VENV)/.locked: constraints/tf215.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 not found: apt-get install python3.11 python3.11-venv" >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] not in ((3, 10), (3, 11)))' || \
	  { echo "TensorFlow 2.15.1 has no build for $$($(PYTHON) --version): give Python 3.11, as make PYTHON=/path/to/python3.11" >&2; exit 2; }
	@echo "==> making $(VENV): TensorFlow 2.15.1, Paddle 2.6.2 and tools (about a minute, 1.5 GB)"
	@$(PYTHON) -m venv $(VENV) || { echo "no venv module: apt-get install python3-venv" >&2; exit 2; }
	@$(BIN)/$(PIP) -r constraints/tf215.txt
	@touch $@

$(VENV)/.installed: $(VENV)/.locked setup.py setup.cfg
	@echo "==> installing recmigrate into $(VENV) (editable), compiling the native library"
	@$(BIN)/$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@ $(NATIVE)

# A first set-up has compiled it a moment ago, after make looked which files there are.
$(NATIVE): $(NATIVE_SOURCES) | $(VENV)/.installed
	@if [ ! -e $@ ] || [ -n "$$(find $(NATIVE_SOURCES) -newer $@)" ]; then \
	  echo "==> compiling the native library" && $(BIN)/python setup.py --quiet build_ext --inplace; fi
	@touch $@

setup: $(VENV)/.installed $(NATIVE)

# Horovod has no binaries: it is compiled against the TensorFlow that is there, without MPI, PyTorch and MXNet. Its tests are skipped
# without it. Over Gloo, 0.28.1 has room for the ranks' numbers and says there are none, so that it never misses a late one: made right.
# Without debug information, at -O1 (its loops are vectorised all the same) and with one of its two copies of Gloo, it takes 0.6 times the time.
$(VENV)/.horovod: export HOROVOD_WITH_TENSORFLOW = 1
$(VENV)/.horovod: export HOROVOD_WITHOUT_PYTORCH = 1
$(VENV)/.horovod: export HOROVOD_WITHOUT_MXNET = 1
$(VENV)/.horovod: export HOROVOD_WITH_GLOO = 1
$(VENV)/.horovod: export HOROVOD_WITHOUT_MPI = 1
$(VENV)/.horovod: constraints/horovod.txt $(VENV)/.locked
	@command -v c++ >/dev/null || { echo "no C++ compiler: apt-get install g++" >&2; exit 2; }
	@echo "==> building Horovod (minutes on two cores)"
	@command -v cmake >/dev/null || $(BIN)/$(PIP) cmake==3.31.6
	@rm -rf build/horovod && mkdir -p build/horovod
	@$(BIN)/pip download --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-binary horovod --dest build/horovod -r constraints/horovod.txt
	@tar -xzf build/horovod/horovod-*.tar.gz -C build/horovod
	@sed -i 's/global_ranks_\.reserve(size_)/global_ranks_.resize(size_)/' build/horovod/horovod-*/horovod/common/gloo/gloo_controller.cc
	@sed -i -e 's/"-O2" "-O3"/"-O2 -g" "-O1 -g0"/' -e 's/add_subdirectory(third_party\/gloo)/add_subdirectory(third_party\/gloo EXCLUDE_FROM_ALL)/' build/horovod/horovod-*/CMakeLists.txt
	@PATH="$(CURDIR)/$(BIN):$$PATH" MAKEFLAGS=-j$$(nproc) $(BIN)/$(PIP) --no-deps --no-build-isolation build/horovod/*.whl build/horovod/horovod-*/
	@rm -rf build/horovod
	@touch $@

horovod: setup $(VENV)/.horovod

demo: setup
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/demo.sh demo-output

test: setup
	@echo "==> tests on TensorFlow 2.15.1"
	@$(BIN)/python $(PYTEST)

$(TF221)/.locked: constraints/tf221.txt
	@echo "==> making $(TF221): TensorFlow 2.21"
	@$(PYTHON) -m venv $(TF221)
	@$(TF221)/bin/$(PIP) -r constraints/tf221.txt
	@touch $@

test-tf221: setup $(TF221)/.locked
	@echo "==> native, runtime, rewriter and property tests, and proofs of Keras 3, on TensorFlow 2.21 with $$(sha256sum $(NATIVE) | cut -c1-12) (the library tested above)"
	@PYTHONPATH=$(CURDIR) $(TF221)/bin/python $(PYTEST) --hypothesis-profile=quick --most=1 --optimize-graphs -m "not one_version" \
	  tests/runtime tests/rewriter tests/property/test_*sequences.py tests/property/test_bad_input.py \
	  tests/migrate/verify/test_keras_rows.py tests/docs/test_tutorials.py

# `pip install .` as a user does it: an isolated build, a non-editable install, run from another directory.
wheel-test: setup
	@echo "==> building and installing the wheel in isolation"
	@rm -rf build/wheel && mkdir -p build/wheel
	@$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/wheel .
	@$(PYTHON) -m venv build/wheel/venv
	@build/wheel/venv/bin/$(PIP) --no-deps build/wheel/*.whl
	@echo "$(CURDIR)/$$(echo $(VENV)/lib/python3*/site-packages)" > $$(echo build/wheel/venv/lib/python3*/site-packages)/z.pth
	@cd build/wheel && venv/bin/migrate --version && venv/bin/python -c \
	  "import runtime, migrate.templates; print('runtime from', runtime.__file__); assert 'wheel' in runtime.__file__"

lint: setup
	@echo "==> ruff"
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .
	@echo "==> clang-format"
	@git ls-files -z '*.h' '*.cc' | xargs -0 $(BIN)/clang-format --dry-run -Werror
	@echo "==> import-linter"
	@$(BIN)/lint-imports --no-logo --no-cache

# What was changed, in a minute: tests/check.py. SINCE=main: all that a branch changed.
SINCE ?=
check: setup
	@$(BIN)/python -m tests.check $(if $(SINCE),--since $(SINCE))

$(VENV)/.tools: constraints/tools.txt $(VENV)/.locked
	@echo "==> adding clang-tidy and pre-commit to $(VENV)"
	@$(BIN)/$(PIP) -r constraints/tools.txt
	@touch $@

# Not at the same time as the package is installed into the same environment.
$(VENV)/.docs: constraints/docs.txt | $(VENV)/.installed
	@echo "==> adding MkDocs to $(VENV)"
	@$(BIN)/$(PIP) -r constraints/docs.txt
	@touch $@

# A browser is not ours to install, and 160 MB of what drives it is of no use without one.
$(VENV)/.browser: constraints/browser.txt | $(VENV)/.installed
	@echo "==> adding Playwright and axe-core to $(VENV)"
	@$(BIN)/$(PIP) -r constraints/browser.txt
	@touch $@

# A warning is an error: a link to nothing, a page that no menu has, a page that asks another host for something.
# Not with --quiet: MkDocs then does not count the warnings that it does not print.
docs: export NO_MKDOCS_2_WARNING = 1
docs: $(VENV)/.docs
	@echo "==> the documentation site"
	@$(BIN)/python -m mkdocs build --strict && echo "open build/site/index.html"

# Before each commit, git then lays out the files in it (.pre-commit-config.yaml). `.venv/bin/pre-commit uninstall` ends that.
hooks: $(VENV)/.tools
	@$(BIN)/pre-commit install

# Bugs that clang-tidy finds in the native library, where it had other files when it last passed: minutes.
tidy: setup $(VENV)/.tools
	@$(BIN)/python -m tests.soak --unless-passed tidy

types: setup
	@echo "==> mypy --strict"
	@$(BIN)/mypy

$(RELEASE)/.locked: constraints/release.txt
	@echo "==> making $(RELEASE): Zig's C++ compiler, auditwheel, build and twine"
	@$(PYTHON) -m venv $(RELEASE)
	@$(RELEASE)/bin/$(PIP) -r constraints/release.txt
	@touch $@

# What is uploaded, and what its users meet: the site in build/site, and tests/release. Nothing is uploaded.
INSTALLS ?=
release: $(RELEASE)/.locked docs
	@$(RELEASE)/bin/python -m tests.release $(INSTALLS)

bench: setup
	@$(BIN)/python -m benchmarks.criteo_step
	@$(BIN)/python -m benchmarks.cold_step
	@$(BIN)/python -m benchmarks.cold_step --keys 1000000,10000000 --ids uniform --systems ours,bare,bare-prefetch
	@$(BIN)/python -m benchmarks.cold_step --keys 1000000 --dim 8,16,64,128 --ids uniform --batches 200 --systems ours,stock,bare-prefetch
	@$(BIN)/python -m benchmarks.criteo_step --optimizer adam
	@$(BIN)/python -m benchmarks.engine --keys 1000000,10000000

PARTS ?=
soak: horovod
	@$(BIN)/python -m tests.soak $(PARTS)

# For CI: nothing where the same C++ files have passed, or the same runtime with Horovod.
sanitize: setup
	@$(BIN)/python -m tests.soak --unless-passed sanitizers

horovod-tests: setup
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m tests.soak --unless-passed horovod

clean:
	rm -rf $(VENV) $(TF221) $(RELEASE) build dist *.egg-info $(NATIVE) demo-output
