"""Errors that a user can cause and correct; everything else that is raised is a defect of kdrbench."""


class KdrbenchError(Exception):
    """Base of every error whose message says what was given, what is allowed and what to do."""


class InputError(KdrbenchError, ValueError):
    """An argument or array that the method cannot work with."""


class TooFewSamplesError(InputError):
    """Settings that are sound, but not for so few samples."""


class ConfigError(KdrbenchError):
    """A configuration that names something unknown or holds an impossible value."""


class DataError(KdrbenchError):
    """A data set that cannot be found, verified or parsed."""


class DamagedError(KdrbenchError):
    """A file of kdrbench's own that is no longer what was written."""


def unknown_name(kind: str, name: object, allowed: list[str]) -> str:
    """Say in one sentence that ``name`` is not one of the ``allowed`` names, with the nearest one if any."""
    import difflib

    near = difflib.get_close_matches(str(name), allowed, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"unknown {kind} {name!r}; allowed: {', '.join(allowed)}.{hint}"
