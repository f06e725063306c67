#!/usr/bin/env bash
# Instructions of one in-memory lookup, by source file and by function. callgrind counts them exactly,
# on any machine, however busy. Instructions are not time (a cache miss costs as much as hundreds of
# them), but they show what a change adds to the path.
#
# usage: experiments/micro/callgrind_lookup.sh [build directory, default build/release]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${1:-$here/../../build/release}
binary=$build/experiments/tree_bench
# Counting is switched on inside this function only; the whole beginning of its name, because callees
# that are instantiated with its lambdas carry it too and would switch it off again.
lookup='palimpsest::experiments::(anonymous namespace)::TreeSession::lookup(*'
seconds=5

for tool in valgrind callgrind_annotate; do
  if ! command -v "$tool" >/dev/null; then
    echo "callgrind_lookup: $tool is missing (Debian package valgrind)" >&2
    exit 1
  fi
done
if [[ ! -x $binary ]]; then
  echo "callgrind_lookup: $binary is missing; run make build" >&2
  exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A pool of 32 MiB: all records fit, and valgrind, which cannot reserve much more, has room for it.
flags=(--engine=tree --path="$work/data" --records=100000 --memory_mib=32)

"$binary" "${flags[@]}" --mode=load >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
valgrind --tool=callgrind --callgrind-out-file="$work/out" --collect-atstart=no \
  --toggle-collect="$lookup" --quiet \
  "$binary" "${flags[@]}" --mode=lookup --warmup=0 --seconds="$seconds" \
  --json="$work/result" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
callgrind_annotate --threshold=100 --auto=no "$work/out" >"$work/functions"
python3 -B "$here/callgrind_table.py" "$work/functions" "$work/result"
