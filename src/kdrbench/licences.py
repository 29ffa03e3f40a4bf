"""The licence of a record: its word, which is one of the SPDX list, and the text that a packed record has of it."""

from __future__ import annotations

import re

from kdrbench.errors import InputError

DEFAULT = "CC-BY-4.0"
_SPDX = re.compile(r"[A-Za-z0-9.+-]{1,64}")
# What these say, and where their text is.
_GRANTS = {
    "CC-BY-4.0": (
        """\
The files of this folder may be used under the Creative Commons Attribution 4.0 International Public License, by those
who name who made these measurements.""",
        "https://creativecommons.org/licenses/by/4.0/legalcode",
    ),
    "CC0-1.0": (
        """\
The files of this folder are dedicated to the public domain under the Creative Commons CC0 1.0 Universal Public Domain
Dedication. To the extent possible under law, those who made these measurements have waived all copyright and related or
neighbouring rights to them.""",
        "https://creativecommons.org/publicdomain/zero/1.0/legalcode",
    ),
}
_HEAD = "SPDX-License-Identifier: {word}\n"
_TEXT = """\
{head}
{grant}
Its text is at {place}.
They come without any warranty.

Figures of samples (charts/) show values of data sets. These keep the licences of the data sets, which kdrbench's page
on data names.
"""


def check_licence(word: str) -> str:
    """Return the word; ``InputError`` unless it can be one of the SPDX list."""
    if not is_licence(word):
        raise InputError(f"--licence is {word!r}; it must be a word of the SPDX list, such as {DEFAULT} or CC0-1.0")
    return word


def is_licence(word: object) -> bool:
    """Return whether this can be a word of the SPDX list, of which there are new ones each year."""
    return isinstance(word, str) and _SPDX.fullmatch(word) is not None


def address_of(word: str) -> str:
    """Return the page of a licence in the SPDX list."""
    return f"https://spdx.org/licenses/{word}"


def licence_head(word: str) -> str:
    """Return the first line of the LICENSE of a packed record."""
    return _HEAD.format(word=word)


def licence_text(word: str) -> str:
    """Return the LICENSE of a packed record."""
    other = (
        f"The files of this folder may be used under the licence {word} of the SPDX list.",
        f"{address_of(word)}.html",
    )
    grant, place = _GRANTS.get(word, other)
    return _TEXT.format(head=licence_head(word), grant=grant, place=place)
