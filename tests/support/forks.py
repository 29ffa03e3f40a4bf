"""Snakemake and kdrbench in forks of a process that has imported them, for most of a start is imports.

Their own main functions run, in a session, folder, environment and cores of their own; jobs are processes as ever.

As a program it reads requests, a line of JSON each, and answers each with a return code.
"""

import atexit
import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"


def forked(words, folder, environment):
    """Run ``snakemake`` or ``kdrbench`` with these words to its end, in this folder and environment."""
    with tempfile.TemporaryDirectory() as place:
        streams = [str(Path(place, name)) for name in ("out", "err")]
        request = {"words": [*map(str, words)], "folder": str(folder), "environment": environment, "streams": streams}
        request["cores"] = sorted(os.sched_getaffinity(0))
        server = _server()
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        code = int(server.stdout.readline())
        return subprocess.CompletedProcess(words, code, *(Path(stream).read_text() for stream in streams))


@cache
def _server():
    command, pipe = [sys.executable, "-P", __file__], subprocess.PIPE
    server = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=os.environ | {"PYTHONPATH": str(SOURCE)})
    atexit.register(server.communicate)
    return server


def serve():
    import snakemake.cli

    import kdrbench.__main__
    import kdrbench.suite.experiments.workflow

    # What the Snakefile imports.
    import kdrbench.suite.reports.outputs
    from kdrbench.suite.experiments.config import load_grid
    from kdrbench.suite.experiments.config_file import read_config_file

    programs = {"snakemake": snakemake.cli.main, "kdrbench": kdrbench.__main__.main}

    # What is imported when a configuration is read.
    load_grid(read_config_file(SOURCE.parent / "config.yaml"))
    for line in sys.stdin:
        child = os.fork()
        if not child:
            request = json.loads(line)
            become(**request)
            sys.exit(programs[Path(request["words"][0]).name]())
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def become(words, folder, environment, streams, cores):
    """Make this process what a command started in the folder and environment would be."""
    os.setsid()
    os.sched_setaffinity(0, cores)
    # The server's own input holds requests.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, stream in enumerate(streams, start=1):
        os.dup2(os.open(stream, os.O_WRONLY | os.O_CREAT), number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path.remove(str(SOURCE))
    sys.path[:0] = environment.get("PYTHONPATH", "").split(os.pathsep)
    sys.argv = words


if __name__ == "__main__":
    serve()
