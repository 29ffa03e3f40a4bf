"""Packed records: what a workflow has measured, small enough to ship, and results folders made of it again.

A packed record is a folder of plain files: CSV and NumPy arrays compressed by xz, a manifest with their SHA-256, a
licence and a README. Nothing beyond Python's standard library and NumPy is needed to read it.
"""
