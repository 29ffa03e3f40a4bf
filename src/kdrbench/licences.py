"""The licence of a record: its word, which is one of the SPDX list, and the text that a packed record has of it."""

from __future__ import annotations

import re

from kdrbench.errors import InputError

DEFAULT = "CC-BY-4.0"
_SPDX = re.compile(r"[A-Za-z0-9.+-]{1,64}")
_TEXT = """\
SPDX-License-Identifier: {word}

The files of this folder may be used under the licence {word} of the SPDX list.
Its text is at {address}.
They come without any warranty.

Figures of samples (charts/) show values of data sets. These keep the licences of the data sets, which kdrbench's page
on data names.
"""


def check_licence(word: str) -> str:
    """Return the word; ``InputError`` unless it can be one of the SPDX list, which has new ones each year."""
    if not _SPDX.fullmatch(word):
        raise InputError(f"--licence is {word!r}; it must be a word of the SPDX list, such as {DEFAULT} or CC0-1.0")
    return word


def address_of(word: str) -> str:
    """Return the page of a licence in the SPDX list."""
    return f"https://spdx.org/licenses/{word}"


def licence_text(word: str) -> str:
    """Return the LICENSE of a packed record."""
    return _TEXT.format(word=word, address=f"{address_of(word)}.html")
