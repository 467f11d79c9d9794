"""Run the tests as other processors would round, and say in the last line what differs.

``make check-cpus`` names the tests: arguments are those of pytest.
"""

import os
import re
import subprocess
import sys

MKL, ATEN, ONEDNN = "MKL_ENABLE_INSTRUCTIONS", "ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA"
THREADS = "OMP_NUM_THREADS"
AS_IT_IS, NOISE = "as it is", "noise"
CORNERS = {
    "SSE4.2": {MKL: "SSE4_2", ATEN: "default", ONEDNN: "SSE41", THREADS: "1"},
    "AVX2": {MKL: "AVX2", ATEN: "avx2", ONEDNN: "AVX2", THREADS: "2"},
    "AVX-512": {MKL: "AVX512", ATEN: "avx512", ONEDNN: "AVX512_CORE", THREADS: "4"},
    AS_IT_IS: {},  # with as many threads as there are cores
    NOISE: {THREADS: "1"},
}
LACKS = {"DEFAULT": ["AVX2", "AVX-512"], "AVX2": ["AVX-512"]}  # by what PyTorch finds
CAPABILITY = "import torch; print(torch.backends.cpu.get_cpu_capability())"
PRODUCT = "import torch; torch.ones(9, 9) @ torch.ones(9, 9)"


def main() -> int:
    """Run pytest in every corner that this processor has."""
    lacking = LACKS.get(ask(CAPABILITY).strip(), [])
    unable = [f"no {name} here" for name in lacking]
    if of_mkl() == of_mkl(**{MKL: "SSE4_2"}):
        unable.append(f"{MKL} does nothing here")
    found: dict[str, list[str]] = {}
    for corner in CORNERS:
        if corner not in lacking:
            print(f"\n== {corner} ==", flush=True)
            found.setdefault(differences(corner), []).append(corner)
    said = "; ".join(f"{', '.join(corners)}: {what}" for what, corners in found.items())
    print(f"\n{said}. Not varied: {', '.join(unable) or 'nothing'}.")
    return len(found) > 1 or not re.fullmatch("all .* print the same", *found)


def environment(**settings: str) -> dict[str, str]:
    unset = {name: value for name, value in os.environ.items() if name not in CORNERS["SSE4.2"]}
    return unset | settings


def ask(code: str, **settings: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, env=environment(**settings), stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def of_mkl(**settings: str) -> list[str]:
    """Return for which processors MKL says that it chose its instructions."""
    return re.findall(r"MKL_VERBOSE .* processors", ask(PRODUCT, MKL_VERBOSE="1", **settings))


def differences(corner: str) -> str:
    """Run pytest, show what it prints, and return what its last line says of cells and tests."""
    plugins = ["tolerance", "differences", *(["noise"] if corner == NOISE else [])]
    options = [part for name in plugins for part in ("-p", f"tests.regression.{name}")]
    command = [sys.executable, "-m", "pytest", *options, *sys.argv[1:]]
    settings = CORNERS[corner] | {"OMP_WAIT_POLICY": "passive"}  # more threads than cores
    line = ""
    with subprocess.Popen(
        command, env=environment(**settings), stdout=subprocess.PIPE, text=True
    ) as run:
        for line in run.stdout:
            print(line, end="", flush=True)
    return line.strip().partition(": ")[2] or "broke off"


if __name__ == "__main__":
    sys.exit(main())
