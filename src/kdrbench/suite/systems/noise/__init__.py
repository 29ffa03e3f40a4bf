"""What learners make of labels that mean nothing, and what the permutation test says of it."""
