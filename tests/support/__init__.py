"""What several test modules share: cases, small systems and methods that go wrong, servers, a Slurm."""
