"""The bytes that the processes of a local Dask cluster write to their connections."""

from distributed.comm.tcp import TCP


def count_writes():
    """Count the bytes that this process writes to its connections from here on."""
    if not hasattr(TCP, "bytes_written"):
        TCP.bytes_written, write = 0, TCP.write

        async def counting(self, *args, **kwargs):
            size = await write(self, *args, **kwargs)
            TCP.bytes_written += size
            return size

        TCP.write = counting


def written():
    """Return the bytes that this process has written."""
    return int(TCP.bytes_written)


class Wire:
    """The bytes that all processes of a cluster write: workers, scheduler and clients."""

    def __init__(self, client):
        self._client = client
        count_writes()
        client.run(count_writes)

    def total(self):
        """Return the bytes so far."""
        return written() + sum(self._client.run(written).values())

    def of(self, work, times):
        """Return the bytes of one piece of work, without those of counting."""
        before = self.total()
        counting = self.total() - before
        before = self.total()
        for _ in range(times):
            work()
        return (self.total() - before - counting) / times
