"""Run tests with the rounding of other processors: a line for each configuration, and what failed in it.

    python tests/processors.py [arguments of pytest]

``OPENBLAS_CORETYPE`` names the processor for which OpenBLAS, of numpy and of scipy, computes. With
``NUMBA_CPU_NAME=generic`` numba makes code for any processor. Types that this processor cannot execute are left out.
So are those for which OpenBLAS has no code of its own. Each type is run with one thread, two of them at a time; the
oldest and the newest also with two threads and generic machine code.
"""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# What the code of each type needs, oldest first, by the names that Linux uses.
NEEDED = {
    "Prescott": {"pni"},
    "Nehalem": {"sse4_2"},
    "Sandybridge": {"avx"},
    "Haswell": {"avx2", "fma"},
    "Zen": {"avx2", "fma"},
    "SkylakeX": {"avx512f", "avx512dq", "avx512bw", "avx512vl"},
    "Cooperlake": {"avx512f", "avx512bw", "avx512_bf16"},
    "SapphireRapids": {"avx512f", "avx512_bf16", "amx_tile", "amx_bf16"},
}
# Which code OpenBLAS has loaded, once for each copy of it.
LOADED = """
import numpy, scipy.linalg, threadpoolctl
print(*sorted({library["architecture"] for library in threadpoolctl.threadpool_info() if "architecture" in library}))
"""


def flags():
    """Return what this processor can execute; empty where the system does not say."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return set()
    return next((set(line.partition(":")[2].split()) for line in lines if line.startswith("flags")), set())


def architecture(core_type):
    """Return the code that OpenBLAS loads for a type."""
    loaded = subprocess.run(
        [sys.executable, "-c", LOADED], env=environment(core_type, 1), check=True, capture_output=True, text=True
    )
    return loaded.stdout.strip()


def core_types():
    """Return the types to be run, one for each code that differs; one without a name where none can be chosen."""
    able, types = flags(), {}
    for core_type, needed in NEEDED.items():
        if needed <= able:
            types.setdefault(architecture(core_type), core_type)
    return list(types.values()) or [""]


def environment(core_type, threads):
    """Return the variables of a run; two threads go with machine code for any processor."""
    chosen = {"OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    if core_type:
        chosen["OPENBLAS_CORETYPE"] = core_type
    if threads > 1:
        chosen["NUMBA_CPU_NAME"] = "generic"
    return os.environ | chosen


def run(core_type, threads, arguments):
    """Run the tests and print a line, and what failed; return whether all passed."""
    began = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--tb=short", *arguments]
    done = subprocess.run(command, env=environment(core_type, threads), check=False, capture_output=True, text=True)
    numba = "generic" if threads > 1 else "native"
    verdict = "pass" if done.returncode == 0 else "FAIL"
    seconds = time.monotonic() - began
    print(f"{core_type or 'as it is':14} {threads} thread(s)  numba {numba:8} {verdict} {seconds:5.0f} s", flush=True)
    if done.returncode:
        print(done.stdout[-20_000:], done.stderr[-2_000:], flush=True)
    return done.returncode == 0


def main(arguments):
    """Run all configurations; return the exit status."""
    types = core_types()
    with ThreadPoolExecutor(2) as pool:
        passed = list(pool.map(lambda name: run(name, 1, arguments), types))
    passed += [run(name, 2, arguments) for name in dict.fromkeys((types[0], types[-1]))]
    return int(not all(passed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
