"""One benchmark run and many: configuration, grid, supervised runs, records."""
