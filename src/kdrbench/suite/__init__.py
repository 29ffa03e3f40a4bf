"""The benchmark suite, a consumer of the library above it: runs, records, findings, pages and commands."""
