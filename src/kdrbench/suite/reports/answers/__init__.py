"""What each experiment asks, and what its records answer: sentences and a matrix, for pages and terminals alike."""
