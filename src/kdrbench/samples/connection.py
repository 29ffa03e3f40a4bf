"""The connection of this process to the scheduler of a Dask cluster."""

from __future__ import annotations

import os
import re
from concurrent.futures import CancelledError
from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import Any

from kdrbench.errors import ClusterError, InputError
from kdrbench.extras import needed_for

_ADDRESS = re.compile(r"(tcp|tls|ws|wss|ucx)://.+:\d{1,5}|inproc://.+")
# What calls to a scheduler or to workers raise that have gone.
GONE = (OSError, TimeoutError, CancelledError)


class Connection:
    """Connects to the scheduler at ``address`` when first asked to, and again where the connection was lost.

    It waits ``patience_s`` seconds for a scheduler and as long for workers.
    """

    def __init__(self, address: str, patience_s: float) -> None:
        self.address, self.patience_s = checked_address(address), patience_s
        distributed()
        self._forget()

    def client(self) -> Any:
        """Return a client whose scheduler has workers; ``ClusterError`` where there are none."""
        if self._process != os.getpid():
            # The threads of a connection do not follow a fork.
            self._forget()
        if self._client is None or self._client.status != "running":
            self.close()
            self._connect()
        try:
            if not self._client.nthreads():
                self._client.wait_for_workers(1, timeout=self.patience_s)
        except GONE as error:
            raise self.deserted() from error
        return self._client

    def close(self) -> None:
        """Leave the cluster."""
        if self._own and self._process == os.getpid():
            self._client.close(timeout=self.patience_s)
        self._forget()

    def deserted(self) -> ClusterError:
        """Return the error of a scheduler without workers."""
        return ClusterError(
            f"the Dask scheduler at {self.address} had no workers for {self.patience_s:g} s; start some by "
            f"`dask worker {self.address}`, and fit again"
        )

    def _forget(self) -> None:
        self._client: Any = None
        self._own, self._process = False, os.getpid()

    def _connect(self) -> None:
        client_class = distributed().Client
        with suppress(ValueError):
            current = client_class.current()
            if current.scheduler.address == self.address and current.status == "running" and not current.asynchronous:
                # What it has persisted can be used by it alone. It is left open.
                self._client = current
                return
        try:
            self._client = client_class(self.address, timeout=self.patience_s, set_as_default=False)
        except GONE as error:
            raise ClusterError(
                f"no Dask scheduler answered at {self.address} within {self.patience_s:g} s; give the address that "
                "`dask scheduler` prints, which this machine must be able to reach"
            ) from error
        self._own = True


def checked_address(address: object) -> str:
    """Return the address of a scheduler; ``InputError`` for what is none."""
    if not isinstance(address, str) or not _ADDRESS.fullmatch(address):
        raise InputError(
            f"scheduler must be the address of a Dask scheduler, such as 'tcp://host:8786', got {address!r}; "
            "`dask scheduler` prints it, and a client has it as client.scheduler.address"
        )
    return address


def distributed() -> ModuleType:
    """Return the package; ``MissingPackageError`` without it."""
    with needed_for("a scheduler"):
        return import_module("distributed")
