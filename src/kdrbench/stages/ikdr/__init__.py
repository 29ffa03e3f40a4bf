"""Interpretable kernel dimension reduction."""
