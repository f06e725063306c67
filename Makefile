# The front door: every target installs what it needs (tools/setup) and builds into build/<preset>/.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.PHONY: help build library run bench-kv bench-log bench-oltp bench-bulk bench-endurance real-files check test fuzz mutate coverage crash soak noise models lint format clean

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build:  ## build the release preset without tests: library, tools, experiments (8 minutes on 2 cores)
	@tools/setup run
	@cmake --preset release -DPALIMPSEST_BUILD_TESTS=OFF
	@cmake --build --preset release

library:  ## build libpalimpsest.a alone, for programs that embed it (README: "Embed it")
	@tools/setup run
	@cmake --preset release -DPALIMPSEST_BUILD_TESTS=OFF
	@cmake --build --preset release --target palimpsest_archive

run: build  ## watch TPC-C for a minute on data 2.7 times its memory (first it loads, half a minute)
	@tools/run

bench-kv:  ## the same workloads here and on LMDB, RocksDB, WiredTiger: a table (BENCH=--quick: 2 minutes)
	@tools/setup bench
	@cmake --preset release -DPALIMPSEST_BUILD_TESTS=OFF -DPALIMPSEST_BENCH_PEERS=ON
	@cmake --build --preset release
	@python3 experiments/kv_bench/compare.py $(BENCH)

bench-log:  ## durable commits here and on four other engines: tables (BENCH=--quick: 3 minutes)
	@tools/setup bench
	@cmake --preset release -DPALIMPSEST_BUILD_TESTS=OFF -DPALIMPSEST_BENCH_PEERS=ON
	@cmake --build --preset release
	@python3 experiments/log_bench/compare.py $(BENCH)

bench-oltp:  ## what snapshot isolation costs: TPC-C, TATP, scans, here and on others (BENCH=--quick: 5 minutes; FULL=1: hours)
	@tools/setup bench
	@cmake --preset release -DPALIMPSEST_BUILD_TESTS=OFF -DPALIMPSEST_BENCH_PEERS=ON
	@cmake --build --preset release --target tpcc tpcc_peers tatp tatp_peers queue scan_bench
	@python3 experiments/oltp/compare.py $(if $(FULL),--full) $(BENCH)

bench-bulk:  ## bulks: loads, files, readers beside them, ranges in and out, other engines: tables (BENCH=--quick: 4 minutes)
	@tools/setup bench
	@cmake --preset release -DPALIMPSEST_BUILD_TESTS=OFF -DPALIMPSEST_BENCH_PEERS=ON
	@cmake --build --preset release --target \
	  tpch_gen tpch_load lineitem_csv csv_load_peers bulk_bench range_bench range_bench_peers palimpsest
	@python3 experiments/bulk/compare.py $(BENCH)

bench-endurance:  ## the same work again and again, here and on LMDB, RocksDB, SQLite (BENCH=--quick: 2 minutes)
	@tools/setup bench
	@cmake --preset release -DPALIMPSEST_BUILD_TESTS=OFF -DPALIMPSEST_BENCH_PEERS=ON
	@cmake --build --preset release --target endurance endurance_peers
	@python3 experiments/endurance/compare.py $(BENCH)

real-files:  ## load a thousand files of data sets that people publish, compare every value (5 minutes; FILES='a.csv b.json': these)
	@tools/setup run
	@cmake --preset release -DPALIMPSEST_BUILD_TESTS=OFF
	@cmake --build --preset release --target palimpsest
	@python3 -B tests/real_files/real_files.py build/release/tools/palimpsest/palimpsest build/real-files $(FILES)

check:  ## the quick loop: builds the debug preset, runs the tests that the last changes concern
	@tools/check

test:  ## formatting, clang-tidy, sanitizers and all tests (up to 30 minutes on 2 cores)
	@tools/test

fuzz:  ## every fuzz target under libFuzzer, a minute each (FUZZ=3600: an hour each)
	@tools/fuzz $(FUZZ)

crash:  ## crash databases everywhere, recover, crash again (CRASH=600: ten minutes; an hour otherwise)
	@tools/setup test
	@tools/crash $(CRASH)

mutate:  ## break the engine on purpose, each time in one place: a test must notice (MUTATE=name: some)
	@tools/setup mutate
	@tools/mutate $(MUTATE)

coverage:  ## which lines and branches the tests reach, per folder; HTML in build/coverage/html
	@tools/coverage

soak:  ## everything beside everything for an hour; ten million random transactions, judged (SOAK=1000000: fewer); benchmarks' threads
	@tools/setup test
	@tools/soak $(SOAK)

noise:  ## threads held up everywhere, at random, a minute a test (NOISE=600: ten)
	@tools/setup test
	@tools/noise $(NOISE)

models:  ## search the models of protocols with SPIN, and broken variants of them (3 minutes; MODELS=name: some)
	@tools/setup models
	@tools/models $(MODELS)

lint:  ## formatting and clang-tidy over all sources; every header on its own
	@tools/setup test
	@tools/format
	@cmake --preset release -DPALIMPSEST_BUILD_TESTS=ON >/dev/null
	@tools/tidy --all
	@python3 -B tests/structure/headers_alone.py --root . g++-12

format:  ## rewrite all sources as .clang-format says
	@tools/setup test
	@tools/format --fix

clean:  ## remove build/, databases of `make run` included
	@rm -rf build
