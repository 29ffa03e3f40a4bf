"""Runs in processes of their own: limits, cores, clocks and what becomes of them."""
