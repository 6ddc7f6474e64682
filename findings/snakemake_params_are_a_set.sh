#!/bin/bash
# Snakemake compares the values of `params` with those of an earlier run as a set, without their names.
# Guess before: a rule whose parameter `seed` changes from 1 to 8 is run again.
# Seen (snakemake 9.27.1): not where 1 and 8 are other parameters' values in both runs; it is with a value that no other has.
# Source: snakemake/persistence/__init__.py, `params_changed`: set(new) against set(recorded).
set -euo pipefail
VERSION=9.27.1
W=$(mktemp -d); trap 'rm -rf "$W"' EXIT; cd "$W"
python3 -m venv venv >/dev/null
venv/bin/python -m pip install -q "snakemake==$VERSION" "packaging<26"
cat > Snakefile <<'S'
rule people:
    output: "people.txt"
    params: seed=config["seed"], subjects=8, volumes=1
    shell: "echo seed {params.seed} of {params.subjects} with {params.volumes} > {output}"
S
run() { venv/bin/snakemake --cores 1 --config seed="$1" >log 2>&1 || { cat log; exit 1; }; cat people.txt; }
one=$(run 1); eight=$(run 8); nine=$(run 9)
echo "snakemake $(venv/bin/snakemake --version)"
echo "seed 1: $one"; echo "seed 8: $eight"; echo "seed 9: $nine"
[ "$one" = "seed 1 of 8 with 1" ] && [ "$eight" = "$one" ] && [ "$nine" = "seed 9 of 8 with 1" ] || { echo "the behaviour has changed"; exit 1; }
echo "seed 8 was taken for no change: the set {1, 8} is the same"
