# make demo: see it work.  make test: all tests.  make check: style and types.  make fuzz: damaged inputs.
# make docs: the documents as a site.  make test-gpu: on a CUDA device.  make coverage: what no test runs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# There once what tests, checks and documents need is installed, too.
DEV := $(VENV)/dev
DATA := fmx/data

.PHONY: demo test golden entry-points wheels kernels check docs test-packaging test-random nightly coverage bench mutants \
	fuzz test-gpu clean

$(BIN)/fmx: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(DEV): $(BIN)/fmx
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(BIN)/fmx
	@mkdir -p demo
	$(BIN)/fmx index $(DATA)/lambda.fa.gz -o demo/lambda.fmx
	@echo
	$(BIN)/fmx inspect demo/lambda.fmx
	@echo
	$(BIN)/fmx search -x demo/lambda.fmx $(DATA)/lambda_reads.fq.gz -o demo/hits.sam
	@echo
	@echo 'The first lines of demo/hits.sam:'
	@head -n 8 demo/hits.sam | cut -c 1-150
	@echo
	$(BIN)/fmx locate -q -x demo/lambda.fmx -p GATTACA -p TTTTTTTT

check: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/codespell fmx docs *.md
	$(BIN)/python -m tests.prose

# Platform wheels, with machine code, in dist/: PYTHONS="python3.11 python3.13" for several.
PYTHONS ?= $(PYTHON)
wheels: $(DEV)
	$(BIN)/python docs/packaging/wheels.py dist $(PYTHONS)

# Kernels for these GPUs, in wheels of their own, in dist/; no GPU is needed.
GPUS ?= sm_80,sm_86,sm_89,sm_90,sm_100,sm_120
kernels: $(DEV)
	$(BIN)/python docs/packaging/wheels.py dist --kernels $(GPUS) $(PYTHONS)

# The site, in site/; a link that leads nowhere is an error.
docs: $(DEV)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict -f docs/site/mkdocs.yml

# As many processes as there are cores, two at least (tests/conftest.py).
PYTEST := $(BIN)/python -m pytest -n auto --dist loadgroup
SIMULATED := NUMBA_ENABLE_CUDASIM=1

test: $(DEV)
	bash tests/install_peers.sh
	$(PYTEST) --ignore tests/packaging
	$(SIMULATED) NUMBA_DISABLE_JIT=1 $(PYTEST) tests/cuda
	$(SIMULATED) $(PYTEST) tests/cuda/test_gpu_pairwise.py

# Wheels, other Pythons, fresh environments: what is installed from the network.
test-packaging: $(DEV)
	$(PYTEST) tests/packaging

# The tests of 'make test' in another order, with other hashes and a clock that runs ahead, as on a busy machine.
test-random: $(DEV)
	PYTHONHASHSEED=$(SEED) $(PYTEST) --ignore tests/packaging --shuffle $(SEED)

# What make test leaves out, too: every combination of layouts and engines, and more examples, as test-random runs
# them; then, side by side, a few faults in each file, and ten minutes of damaged inputs.
nightly: SEED := $(shell date +%Y%m%d)
nightly: $(DEV)
	bash tests/install_peers.sh
	PYTHONHASHSEED=$(SEED) $(PYTEST) --nightly --shuffle $(SEED)
	$(SIMULATED) NUMBA_DISABLE_JIT=1 $(PYTEST) --nightly tests/cuda
	$(SIMULATED) $(PYTEST) --nightly tests/cuda/test_gpu_pairwise.py
	$(MAKE) -j 2 -O docs mutants fuzz MUTANTS=3 SECONDS=600 SEED=$(SEED)

# Lines and branches of fmx that no test runs: those of 'make test' under coverage, with branches that are never
# taken. Compiled functions count where they are Python: in the CUDA simulator. PACKAGES="output report" for these alone.
# Functions that are compiled for CPUs alone are run as Python by a few quick tests. It fails if fewer are run than
# pyproject.toml asks for, unless some packages alone are tested. Data of killed processes is ignored if it is damaged.
PACKAGES ?= .
COVERED := $(BIN)/python -W ignore -m coverage
COVER := $(BIN)/python -m coverage run -m pytest -n auto --dist loadgroup
UNCOMPILED := output/test_put.py output/test_writer_protocol.py \
	output/test_records.py::test_a_mate_has_the_cigar_of_the_other_one \
	output/test_records.py::test_records_of_fastq[palindromes-few-tags] \
	input/test_gunzip.py::test_what_is_rare_is_left_to_igzip[zeros] \
	guides/test_assign.py guides/test_count_mates.py::test_pairs_of_a_library_and_pairs_of_others \
	align/test_paths.py::test_a_few_sequences_of_each_kind_are_aligned_as_defined \
	align/test_pairwise.py::test_table_is_the_definitions align/test_pairwise.py::test_matrices_hold_all_values \
	index/test_parts.py::test_layouts_are_added_to_every_part index/test_layouts.py::test_a_layout_keeps_the_limits_of_engines \
	index/test_layouts.py::test_occ_is_the_naive_count[bvsfm-k2-d96] \
	input/test_alignments.py::test_a_group_that_the_header_does_not_know_takes_no_room_that_is_not_there \
	index/test_suffix_array.py::test_repeats_end_after_as_many_rounds_as_doublings[AC-1000] \
	index/test_groups.py::test_groups_of_a_table_may_come_later \
	mem/test_mem_sparse.py::test_the_command \
	search/test_screen.py::test_a_pair_occurs_wherever_one_of_its_mates_does[None-near0] \
	search/test_near.py search/test_collapse.py sites/test_offtargets.py::test_every_source_gives_the_same \
	stretches/test_stretches.py::test_a_pair_belongs_where_a_mate_does \
	stretches/test_stretches.py::test_the_command_separates_reads_and_counts_them[0]
coverage: $(DEV)
	bash tests/install_peers.sh
	rm -rf .pytest_cache/coverage && mkdir -p .pytest_cache/coverage
	$(COVER) --ignore tests/packaging $(addprefix tests/,$(PACKAGES))
	$(SIMULATED) NUMBA_DISABLE_JIT=1 $(COVER) tests/cuda
	$(SIMULATED) $(COVER) tests/cuda/test_gpu_pairwise.py
	NUMBA_DISABLE_JIT=1 $(COVER) -W ignore::RuntimeWarning $(addprefix tests/,$(UNCOMPILED))
	$(COVERED) combine --quiet
	$(COVERED) report $(if $(filter-out .,$(PACKAGES)),--fail-under=0)

# Times this machine, beside other programs where they are installed, and its GPU; tables in the folder bench.
bench: $(DEV)
	bash tests/install_peers.sh
	$(BIN)/python docs/bench all

# Faults put into fmx, MUTANTS in each file that tests/mutants.py lists: which of them do its tests not see?
MUTANTS ?= 20
mutants: $(DEV)
	$(BIN)/python -m tests.mutants -n $(MUTANTS) --seed $(SEED) $(FILES)

# Damaged inputs and odd commands for some time, as in 'make fuzz SECONDS=3600 SEED=7' (tests/fuzz/__init__.py).
SECONDS ?= 60
SEED ?= 1
fuzz: $(DEV)
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS) --seed $(SEED)

# All of tests/cuda on a GPU, by 8 processes; they fail where there is none.
GPU_PYTHON ?= $(BIN)/python
test-gpu:
	$(GPU_PYTHON) -c 'import numba_cuda, cuda.compute, xdist' || $(GPU_PYTHON) -m pip install --quiet '.[cuda,dev]'
	$(GPU_PYTHON) -m pytest --nightly -n 8 -m 'not alone' tests/cuda
	$(GPU_PYTHON) -m pytest --nightly -m alone tests/cuda

# Writes the expected outputs of tests/data/golden and golden_mem anew: read the difference before it is committed.
golden: $(DEV)
	$(BIN)/python -m pytest -q tests/cli/test_golden.py tests/mem/test_mem_command.py --update-golden

# The list of what fmx compile compiles: after a command calls a function with arguments of new types.
entry-points: $(DEV)
	$(BIN)/python -m tests.entry_points

clean:
	rm -rf $(VENV) demo site .pytest_cache .ruff_cache .mypy_cache
