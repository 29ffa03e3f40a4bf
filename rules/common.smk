# What several jobs of reports share.


def flagged(job):
    """Return the files that a job makes, pages and pictures with their captions."""
    flags = outputs.captioned(GRID.config, job)
    return [report(path, **flags[path]) if path in flags else path for path in made_by(job)]
