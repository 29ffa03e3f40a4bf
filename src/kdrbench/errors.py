"""Errors that a user can cause and correct, and how others are put into words.

Every other error is a defect of kdrbench.
"""

import errno
import unicodedata

# Characters of a message that is not ours: in a sentence, and at all.
_LONGEST, _MOST_TEXT = 300, 2**16
# Names that a message lists: beside the nearest one, and where none is near.
_MOST_NAMES, _MOST_NAMES_ALONE = 12, 60
# Letters from which a name may be guessed that begins with them.
_SHORTEST = 3


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


class ClusterError(KdrbenchError):
    """A cluster whose scheduler or workers cannot be reached, or went and did not come back."""


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
    errno.ENOLCK: "mount it with locks, or put results on another file system",
}


def refusal(error: OSError) -> str:
    """Return what the system refused, as one sentence with what to do; finished work is kept whatever it was."""
    places = " -> ".join(str(place) for place in (error.filename, error.filename2) if place is not None)
    fault = ": ".join(filter(None, [error.strerror or str(error) or type(error).__name__, places]))
    remedy = _REMEDIES.get(error.errno or 0, "correct that")
    return f"{fault}; {remedy}, and give the same command again: what is finished is kept"


def unknown_name(kind: str, name: object, allowed: list[str], most: int = 0) -> str:
    """Say that ``name`` is not one of the ``allowed`` names, and before these the nearest one if any.

    The nearest is found whatever the case of its letters, first among those that begin with ``name``. Of a long list
    the names nearest to ``name`` are given, ``most`` of them if that is not 0.
    """
    import difflib

    by_folded, word = {one.casefold(): one for one in allowed}, str(name).casefold()
    begun = [one for one in by_folded if one.startswith(word) and len(word) >= _SHORTEST]
    near = difflib.get_close_matches(word, begun or by_folded, n=1, cutoff=0.0 if begun else 0.6)
    most = most or (_MOST_NAMES if near else _MOST_NAMES_ALONE)
    listed = allowed
    # A list that is hardly longer is given as it is.
    if len(allowed) > 1.5 * most:
        nearest = {by_folded[one] for one in difflib.get_close_matches(word, by_folded, n=most, cutoff=0.0)}
        listed = [*(one for one in allowed if one in nearest), f"and {len(allowed) - len(nearest)} more"]
    hint = f". Did you mean {by_folded[near[0]]!r}? Allowed" if near else "; allowed"
    return f"unknown {kind} {name!r}{hint}: {', '.join(one or repr(one) for one in listed)}."


def counted(number: int, noun: str, nouns: str = "") -> str:
    """Return "1 run" or "2 runs"; ``nouns`` is the plural of a noun that does not only take an s."""
    return f"{number} {noun if number == 1 else nouns or f'{noun}s'}"


def count_of(number: int) -> str:
    """Return a number as a sentence has it: none for 0."""
    return str(number) if number else "none"


def joined(names: list[str]) -> str:
    """Return "A", "A and B" or "A, B and C"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def in_words(error: BaseException) -> str:
    """Return the type of an exception of somebody else's code and the first line of its message, in 300 characters."""
    lines = text_of(error).splitlines()
    text = visible(f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def error_text(error: BaseException) -> str:
    """Return the type of an exception and all lines of its message, whatever making them raises."""
    return f"{type(error).__name__}: {text_of(error)}"


def text_of(message: object) -> str:
    """Return a message as a string of at most 65,536 characters, whatever it is."""
    try:
        return str(message)[:_MOST_TEXT]
    except Exception:
        # Methods of somebody else's object may raise anything.
        return f"a message of type {type(message).__name__} that is no text"


def visible(text: str, also: str = "") -> str:
    """Return the text with control characters, line ends, invisible characters and lone surrogates escaped.

    The characters in ``also`` stay as they are.
    """
    if text.isprintable():
        return text
    return "".join(one if _is_visible(one) or one in also else one.encode("unicode_escape").decode() for one in text)


def _is_visible(letter: str) -> bool:
    """Return whether a character is a printable one or a space."""
    return letter.isprintable() or unicodedata.category(letter) == "Zs"
