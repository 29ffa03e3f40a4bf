"""Tables: what our cells are, how they compare with the published ones, and how they are written."""
