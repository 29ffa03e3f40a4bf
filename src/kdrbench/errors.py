"""Errors that a user can cause and correct; everything else that is raised is a defect of kdrbench."""

import errno

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


class DamagedError(KdrbenchError):
    """A file of kdrbench's own that is no longer what was written."""


_REMEDIES = {
    errno.ENOSPC: "free some space on that disk",
    errno.EDQUOT: "free some space: the quota is used up",
    errno.EFBIG: "allow larger files (ulimit -f)",
    errno.EROFS: "make it writable, or work in another folder",
    errno.EACCES: "make it readable and writable for you, or work in another folder",
    errno.EPERM: "make it readable and writable for you, or work in another folder",
    errno.EMFILE: "allow more open files (ulimit -n)",
    errno.EIO: "look after that disk",
}


def refusal(error: OSError) -> str:
    """Return what the system refused, as one sentence with what to do; finished work is kept whatever it was."""
    places = " -> ".join(str(place) for place in (error.filename, error.filename2) if place is not None)
    fault = ": ".join(filter(None, [error.strerror or str(error) or type(error).__name__, places]))
    remedy = _REMEDIES.get(error.errno or 0, "correct that")
    return f"{fault}; {remedy}, and give the same command again: what is finished is kept"


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
