#!/usr/bin/env bash
# OPENBLAS_CORETYPE is a wish: which kernels numpy takes for it, on x86-64.
# Guessed: each name of a core gives that core's kernels, under that name, and a wrong name is refused.
# It is so: in the wheels of numpy "Sapphirerapids", a core that OpenBLAS knows, is taken as an unknown name:
# without a word the processor's own choice stays.  "Zen" is Haswell, "Prescott" is called Katmai.  A name is
# taken without a look at what the processor can do: ask /proc/cpuinfo before naming a core.
# So a test run "under Sapphirerapids" or "under Zen" has tested something else: ask threadpoolctl.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
[ "$(uname -m)" = x86_64 ] || { echo "not checked: this is no x86-64 processor"; exit 0; }
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.3.5 threadpoolctl==3.6.0
cat > "$folder/core.py" <<'P'
import numpy, threadpoolctl
pool = threadpoolctl.threadpool_info()[0]
print(pool["architecture"])
P
core() { OPENBLAS_VERBOSE=${2:-0} OPENBLAS_CORETYPE=$1 "$folder/venv/bin/python" "$folder/core.py" 2>&1; }
changed=0
expect() {      # what is asked, what comes, what came when this was written
    echo "$1: $2"
    [ "$2" = "$3" ] || { echo "  CHANGED: was $3"; changed=1; }
}
own=$(env -u OPENBLAS_CORETYPE "$folder/venv/bin/python" "$folder/core.py")
"$folder/venv/bin/python" -c '
import numpy, threadpoolctl
print("numpy", numpy.__version__, "OpenBLAS", threadpoolctl.threadpool_info()[0]["version"])'
echo "this processor, left alone: $own"
expect "OPENBLAS_CORETYPE=Sapphirerapids" "$(core Sapphirerapids)" "$own"
expect "OPENBLAS_CORETYPE=Sapphirerapids, OPENBLAS_VERBOSE=2" "$(core Sapphirerapids 2 | head -1)" \
    "Core not found: Sapphirerapids"
expect "OPENBLAS_CORETYPE=Zen" "$(core Zen)" Haswell
expect "OPENBLAS_CORETYPE=Prescott" "$(core Prescott)" Katmai
if grep -qw avx512f /proc/cpuinfo; then
    expect "OPENBLAS_CORETYPE=SkylakeX" "$(core SkylakeX)" SkylakeX
fi
exit $changed
