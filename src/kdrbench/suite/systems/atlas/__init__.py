"""The atlas of optima, as a system of the benchmark."""
