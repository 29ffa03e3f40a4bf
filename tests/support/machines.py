"""A job made by several machines at once on one folder: each a host name and a number space of processes of its own."""

import os
import subprocess
import sys
from pathlib import Path

from kdrbench.suite.engine.isolation.supervisor import SupervisionError
from kdrbench.suite.engine.job import run_job
from support.one_batch import LIMITS, alone, context_of, files_in
from support.tiny_system import DATA, TinySystem, tiny_batch

ROOT = Path(__file__).parents[2]
RUNS = (0, 1, 2, 3)
# What a process prints that found another at work, and one that has made what was missing.
WAITS, ENDED = "waits", "ended"
CODE = "import sys; from support.machines import work; work(*sys.argv[1:])"


class Notes(TinySystem):
    """Writes down each run that is made, whoever makes it."""

    def run(self, batch, dataset, number, referee):
        with Path(batch.definition["notes"]).open("a") as stream:
            stream.write(f"{number}\n")
        yield from super().run(batch, dataset, number, referee)


def batch_in(folder):
    """Return the batch of a shared folder; its runs take a tenth of a second."""
    return tiny_batch(method="it", runs=RUNS, first_s=0.1, notes=str(Path(folder) / "notes"))


def work(folder, notes, until_done="yes"):
    """Make the job in ``folder``, as often as it takes; print each sentence that another machine is the reason of."""
    batch = tiny_batch(method="it", runs=RUNS, first_s=0.1, notes=notes)
    while True:
        try:
            run_job(Notes(), alone(batch), lambda name: DATA, context_of(LIMITS), files_in(Path(folder)))
        except SupervisionError as error:
            print(WAITS, error, flush=True)
            if until_done != "yes":
                return
            continue
        print(ENDED, flush=True)
        return


def machine(name, *words):
    """Start ``work(*words)`` on a machine of its own: with a host name and numbers of processes that no other has."""
    command = ["unshare", "--uts", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc", "sh", "-c"]
    command += [f'hostname {name} && exec "$@"', "sh"]
    command += [sys.executable, "-c", CODE, *map(str, words)]
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests'}"}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
