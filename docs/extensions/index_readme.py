"""The README as a package index shows it, where relative links and pictures lead nowhere.

Hatchling runs this when it builds the package. Files keep their places, as words.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_PICTURE = re.compile(r"!\[([^\]]*)\]\((?!https?://)([^)]+)\)")
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?://)([^)#]+)[^)]*\)")
_NOTE = "*Files that this page names, such as docs/quick_start.md, are in the source archive.*\n\n"


def for_index(text: str) -> str:
    """Return the text with each relative link as its words and its place, each picture as what it shows."""
    text = _PICTURE.sub(r"Picture \2: \1.", text)
    text = _LINK.sub(lambda link: link[1] if link[1] == link[2] else f"{link[1]} ({link[2]})", text)
    title, blank, rest = text.partition("\n\n")
    return f"{title}{blank}{_NOTE}{rest}"


class IndexReadme(MetadataHookInterface):
    """Sets the field ``readme``."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the long description and its type."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": for_index(text)}
