"""The numeric tests with the kernels of other processors, which each library is told by the environment.

    .venv/bin/python .ci/processors.py [SETTING ...] [-- ARGUMENTS OF PYTEST]

Reckon with half an hour a setting on one idle core: not part of the check.  A setting is first tried in a
process of its own, where every library says what it took:

    skipped   this processor lacks the instructions: nothing is known about them here
    refused   a library took something else than the setting says: no test ran
    same      every library took what it took in an earlier setting, whose tests stand for both
    passed, FAILED

The exit status is 1 where a setting failed.  ONNX Runtime chooses by the processor alone and cannot be told.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

CHECKOUT = Path(__file__).resolve().parents[1]
COMPUTING_NOTHING = {"label", "machine", "node", "report", "workflow"}
"""Folders of tests of rooms that hand numbers on; any other folder, a new one too, is numeric."""
AVX2 = {"avx2", "fma"}
AVX512 = {*AVX2, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
Answers = dict[str, str]
"""What each library took, by its name."""


@dataclass(frozen=True)
class Setting:
    """What is asked of the libraries, and what they must answer.

    flags     of /proc/cpuinfo, without which the kernels end as an illegal instruction
    expected  by library, a regular expression for its answer
    """

    environment: dict[str, str]
    flags: set[str] = field(default_factory=set)
    expected: Answers = field(default_factory=dict)


def openblas(core: str, flags: set[str], names: str = "") -> Setting:
    """numpy and scipy each bring an OpenBLAS, which knows the kernels of this core by one of `names`."""
    answer = names or core
    answers = {"numpy BLAS": answer, "scipy BLAS": answer}
    return Setting({"OPENBLAS_CORETYPE": core}, flags, answers)


def pytorch(capability: str, flags: set[str]) -> Setting:
    environment = {"ATEN_CPU_CAPABILITY": capability, "ONEDNN_MAX_CPU_ISA": "AVX2"}
    return Setting(environment, flags, {"torch": capability.upper(), "oneDNN": "Intel AVX2"})


SETTINGS = {
    "as-it-is": Setting({}),
    # where a wheel lacks kernels of a core's own it takes another's, whose name it then says
    "openblas-prescott": openblas("Prescott", set(), "Prescott|Katmai"),
    "openblas-haswell": openblas("Haswell", AVX2),
    "openblas-zen": openblas("Zen", AVX2, "Zen|Haswell"),
    "openblas-skylakex": openblas("SkylakeX", AVX512),
    "openblas-sapphirerapids": openblas(
        "Sapphirerapids", {*AVX512, "avx512_bf16"}, "SapphireRapids"
    ),
    "torch-default": pytorch("default", AVX2),
    "torch-avx2": pytorch("avx2", AVX2),
    "torch-avx512": pytorch("avx512", AVX512),
    "onednn-sse41": Setting({"ONEDNN_MAX_CPU_ISA": "SSE41"}, expected={"oneDNN": "Intel SSE4.1"}),
    "mkl-compatible": Setting({"MKL_CBWR": "COMPATIBLE"}, expected={"MKL": "COMPATIBLE"}),
    "numpy-baseline": Setting(
        {"NPY_DISABLE_CPU_FEATURES": "DISPATCHED"}, expected={"numpy": "baseline"}
    ),
    "libm-without-fma": Setting({"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4"}, AVX2),
}

NUMPY_FEATURES = """
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
features = " ".join(name for name in __cpu_dispatch__ if __cpu_features__[name])
"""
"""Those beyond numpy's baseline that this processor has: no others can be disabled."""
PROBE = f"""
import json, math
import scipy.linalg, torch, threadpoolctl
{NUMPY_FEATURES}
square = torch.rand(64, 64)
square @ square
torch.nn.functional.conv2d(torch.rand(8, 8, 64, 64), torch.rand(16, 8, 3, 3))
cores = {{
    pool["filepath"].split("/")[-2].removesuffix(".libs"): pool["architecture"]
    for pool in threadpoolctl.threadpool_info() if "architecture" in pool
}}
print("ANSWERS " + json.dumps({{
    "numpy BLAS": cores.get("numpy", ""), "scipy BLAS": cores.get("scipy", ""),
    "torch": torch.backends.cpu.get_cpu_capability(), "numpy": features or "baseline",
    "libm": "exp %08x" % (hash(tuple(math.exp(k / 997) for k in range(997))) % 2**32),
}}))
"""


def run_python(program: str, environment: dict[str, str]) -> str:
    """What a program says on standard output, and nothing where it was ended."""
    command = [sys.executable, "-c", program]
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}
    ).stdout


def ask_libraries(setting: Setting) -> Answers:
    """What each library takes under a setting; oneDNN and MKL say it themselves once they have computed."""
    loud = {"ONEDNN_VERBOSE": "1", "MKL_VERBOSE": "1"}
    spoken = run_python(PROBE, {**environment_of(setting), **loud})
    answers: Answers = json.loads((re.findall("^ANSWERS (.*)$", spoken, re.M) or ["{}"])[0])
    for library, pattern in (("oneDNN", "cpu,isa:(.*)"), ("MKL", r"CNR:(\S+)")):
        if (answer := re.search(pattern, spoken)) is not None:
            answers[library] = answer[1]
    return answers


def environment_of(setting: Setting) -> dict[str, str]:
    """The environment of a setting, with numpy's own list of features where all are to be disabled."""
    if "NPY_DISABLE_CPU_FEATURES" not in setting.environment:
        return setting.environment
    listed = run_python(f"{NUMPY_FEATURES}\nprint(features)", {}).strip()
    return {**setting.environment, "NPY_DISABLE_CPU_FEATURES": listed}


def numeric_folders() -> list[str]:
    """The folders of tests of rooms that compute."""
    folders = (path for path in (CHECKOUT / "tests").iterdir() if any(path.rglob("test_*.py")))
    return sorted(f"tests/{path.name}" for path in folders if path.name not in COMPUTING_NOTHING)


def processor() -> tuple[str, set[str]]:
    """The name of this processor and its flags."""
    facts = dict(
        re.findall(r"^(model name|flags)\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    )
    return facts.get("model name", "an unknown processor"), set(facts.get("flags", "").split())


def run_tests(setting: Setting, arguments: list[str]) -> str:
    """How the numeric tests end under a setting."""
    begun = monotonic()
    chosen = (
        arguments if any((CHECKOUT / word.split("::")[0]).exists() for word in arguments) else []
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        "1",
        *arguments,
        *([] if chosen else numeric_folders()),
    ]
    process = subprocess.run(command, cwd=CHECKOUT, env={**os.environ, **environment_of(setting)})
    return f"{'FAILED' if process.returncode else 'passed'} in {monotonic() - begun:.0f} s"


def verdict(name: str, flags: set[str], earlier: dict[str, Answers], arguments: list[str]) -> str:
    """What is to be said of a setting; its answers are added to `earlier` where its tests ran."""
    setting = SETTINGS[name]
    if setting.flags - flags:
        return f"skipped: this processor has no {', '.join(sorted(setting.flags - flags))}"
    answers = ask_libraries(setting)
    print(f"{name}: {answers}", flush=True)
    for library, answer in setting.expected.items():
        if not re.fullmatch(answer, answers.get(library, "")):
            return f"refused: {library} took {answers.get(library)!r}, not {answer}"
    for before, theirs in earlier.items():
        if theirs == answers:
            return f"same as {before}"
    earlier[name] = answers
    return run_tests(setting, arguments)


def main(words: list[str]) -> int:
    cut = words.index("--") if "--" in words else len(words)
    names = words[:cut] or list(SETTINGS)
    if unknown := [name for name in names if name not in SETTINGS]:
        print(f"no setting {unknown[0]!r}; there are {', '.join(SETTINGS)}")
        return 2
    model, flags = processor()
    earlier: dict[str, Answers] = {}
    verdicts = {name: verdict(name, flags, earlier, words[cut + 1 :]) for name in names}
    print(f"\n{model}; {', '.join(numeric_folders())}")
    for name, line in verdicts.items():
        print(f"{name:24} {line}")
    return int(any(line.startswith("FAILED") for line in verdicts.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
