"""Install locks into an environment: in parallel by uv, which a lock pins itself, or by pip where uv is not available.

    python envs/install.py .venv envs/requirements.lock [another.lock ...] [--editable .]

One line says what is installed and about how long that takes. Where the output is no terminal, a line every few seconds
says that the work goes on. Hashes are required of every package.
"""

import argparse
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

EVERY_S = 8.0
# The entry of uv in a lock: its version and hashes, on lines that end with a backslash but for the last.
UV = re.compile(r"^uv==(?:.*\\\n)*.*\n", re.MULTILINE)
# Seconds for a package on two cores, from a full and from an empty cache.
SECONDS = {"uv": (0.02, 0.25), "pip": (0.7, 1.5)}


def packages_in(locks):
    """Return the names of the packages of all locks, without those for other systems."""
    lines = [line for lock in locks for line in Path(lock).read_text().splitlines()]
    return {line.partition("==")[0] for line in lines if "==" in line and "win32" not in line}


def run(command, label):
    """Run a command and return its exit code; say that it goes on where it shows no progress of its own."""
    ended = threading.Event()

    def report_progress():
        began = time.monotonic()
        while not ended.wait(EVERY_S):
            print(f"kdrbench: {label}, {time.monotonic() - began:.0f} s so far", flush=True)

    reporter = threading.Thread(target=report_progress, daemon=True)
    if not sys.stderr.isatty():
        reporter.start()
    try:
        return subprocess.run(command, check=False).returncode
    finally:
        ended.set()


def python_of(environment):
    """Return the Python of an environment."""
    return str(Path(environment, "bin", "python"))


def pip_of(environment):
    """Return the words that start pip for an environment, and its settings.

    It is the pip of the environment, of this Python, or one that the environment gets: an environment is made without
    pip, which takes seconds to install and is among the locked packages.
    """
    options = ["--quiet", "--disable-pip-version-check"]
    own, shared = [python_of(environment), "-m", "pip"], [sys.executable, "-m", "pip", "--python", environment]
    for words in (own, shared):
        settings = subprocess.run([*words, "config", "list"], capture_output=True, text=True, check=False)
        if not settings.returncode:
            return [*words, *options], settings.stdout
    subprocess.run([python_of(environment), "-m", "ensurepip"], stdout=subprocess.DEVNULL, check=True)
    return pip_of(environment)


def uv_of(environment, lock):
    """Return the words that start uv, which pip installs first; none where it is not pinned or not available.

    Whoever set up pip with an index of their own is served by pip, since uv does not read its settings.
    """
    program = Path(environment, "bin", "uv")
    if program.exists():
        return [str(program)]
    entry = UV.search(Path(lock).read_text())
    pip, settings = pip_of(environment)
    if not entry or re.search(r"(^|\.)index-url=", settings) or "PIP_INDEX_URL" in os.environ:
        return []
    pinned = Path(environment, "uv.txt")
    pinned.write_text(entry.group())
    words = ["install", "--no-compile", "--require-hashes", "--only-binary", ":all:", "-r", str(pinned)]
    return [] if run([*pip, *words], "installing uv") else [str(program)]


def announce(environment, locks, installer):
    """Say what is installed, and about how long it takes."""
    count = len(packages_in(locks))
    least, most = (max(3, round(count * seconds, -1)) for seconds in SECONDS[installer])
    print(
        f"kdrbench: installing {count} packages of {' and '.join(locks)} into {environment} by {installer}: "
        f"about {least:.0f} s where they are cached, {most:.0f} s where they are downloaded",
        flush=True,
    )


def install(environment, locks, editable):
    """Install the locks, and the package itself where that is wanted; return the exit code."""
    wanted = [word for lock in locks for word in ("-r", lock)]
    itself = ["--no-deps", "--no-build-isolation", "--editable", editable]
    if uv := uv_of(environment, locks[0]):
        announce(environment, locks, "uv")
        begin = [*uv, "pip", "install", "--quiet", "--python", python_of(environment)]
        failed = run([*begin, "--require-hashes", *wanted], "installing")
        if not failed:
            return run([*begin, *itself], "installing kdrbench") if editable else 0
        print("kdrbench: uv could not install them; falling back to pip", flush=True)
    announce(environment, locks, "pip")
    begin = [*pip_of(environment)[0], "install"]
    failed = run([*begin, "--require-hashes", *wanted], "installing")
    return failed or (run([*begin, *itself], "installing kdrbench") if editable else 0)


def main():
    """Read the command line, and install."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environment", help="folder of the virtual environment, with or without pip")
    parser.add_argument("locks", nargs="+", help="lock files; the first one may pin uv")
    parser.add_argument("--editable", default="", help="folder of the package, to be installed without dependencies")
    chosen = parser.parse_args()
    return install(chosen.environment, chosen.locks, chosen.editable)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("kdrbench: installing was interrupted; the same command goes on")
