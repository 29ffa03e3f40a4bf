"""Threads: those of ours, and BLAS on one while they work, for its threads and ours would wait for each other."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


class _BlasLimit:
    """Holds BLAS to one thread while at least one user is within; users on several threads of Python may overlap."""

    def __init__(self) -> None:
        self._lock, self._users = threading.Lock(), 0
        # Looking for the loaded libraries takes milliseconds.
        self._controller = ThreadpoolController()
        self._limit: Any = None

    @contextmanager
    def held(self) -> Iterator[None]:
        with self._lock:
            if self._users == 0:
                self._limit = self._controller.limit(limits=1, user_api="blas")
                self._limit.__enter__()
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    self._limit.__exit__(None, None, None)


@cache
def _blas_limit() -> _BlasLimit:
    return _BlasLimit()


def one_blas_thread() -> AbstractContextManager[None]:
    """Hold BLAS to one thread, in the whole process, until the last of those that asked for it has left."""
    return _blas_limit().held()


@cache
def waiting_threads() -> ThreadPoolExecutor:
    """Return threads that wait for work: starting one takes as long as a short pass, on a busy machine much longer."""
    return ThreadPoolExecutor(os.cpu_count() or 1, "pass")


# A forked process has none of them.
os.register_at_fork(after_in_child=waiting_threads.cache_clear)
