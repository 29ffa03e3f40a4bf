"""The dashboard: one page with every table, figure and run, which needs no network and no server."""
