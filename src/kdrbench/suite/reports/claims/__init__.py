"""The papers' claims that can be decided from records, each by a function of its own."""
