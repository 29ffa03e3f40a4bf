"""What this system claims of its rows."""


def claims_of_shrinkage():
    """Return the claim that no class mean is worse than guessing."""
    from kdrbench.suite.findings.finding import Claim, decided_by_share

    def decide(rows):
        above = int((rows["accuracy"] > 0.5).sum())
        return decided_by_share(above, len(rows), f"lowest accuracy {rows['accuracy'].min():.3f}", unit="run")

    return [Claim("Shrunken means are better than guessing", "Nearest means", "", decide)]
