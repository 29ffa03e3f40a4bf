"""Errors that a user can cause and correct; everything else that is raised is a defect of kdrbench."""

# Characters of a message that is not ours.
_LONGEST = 300


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


def unknown_name(kind: str, name: object, allowed: list[str]) -> str:
    """Say in one sentence that ``name`` is not one of the ``allowed`` names, with the nearest one if any."""
    import difflib

    near = difflib.get_close_matches(str(name), allowed, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"unknown {kind} {name!r}; allowed: {', '.join(allowed)}.{hint}"


def in_words(error: BaseException) -> str:
    """Return the type of an exception of somebody else's code and the first line of its message, in 300 characters."""
    kind = type(error).__name__
    try:
        lines = str(error).splitlines()
    except Exception:
        # Its own method may raise.
        lines = []
    text = f"{kind}: {lines[0]}" if lines else kind
    printable = "".join(letter if letter.isprintable() else "?" for letter in text)
    return printable if len(printable) <= _LONGEST else f"{printable[:_LONGEST]}..."
