"""A record with its provenance as an RO-Crate: a folder or archive that says in JSON-LD what made each of its files.

The profile is Provenance Run Crate 0.5 (https://w3id.org/ro/wfrun/provenance/0.5).
"""
