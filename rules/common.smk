# What several jobs of reports share.


def flagged(job):
    """Return the files that a job makes, pages and pictures with their labels."""
    flags = outputs.report_flags(GRID.config, job)
    return [report(path, **flags[path]) if path in flags else path for path in made_by(job)]
