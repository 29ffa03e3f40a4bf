"""Pages are written in plain words: short sentences, common words, links that lead somewhere."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if not {"_build", "_reports", "gallery"} & set(page.relative_to(ROOT).parts)]
HABITS = [
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "SECURITY.md",
    *sorted((ROOT / ".github").rglob("*.md")),
]
CODE = {".py", ".txt", ".j2", ".toml", ".json", ".js", ".css"}
SOURCES = [path for path in sorted((ROOT / "src").rglob("*")) if path.suffix in CODE]
SOURCES += [path for part in ("examples", "extensions") for path in sorted((ROOT / "docs" / part).glob("*.py"))]
# Made of a record: their words are those of its tables and claims, and they lead to reports that are made with them.
MADE = sorted((ROOT / "docs/record").glob("*.md"))
MOST_WORDS, MOST_README_LINES = 30, 120
# Private words. In their places: "is", "given", "estimate", "repair", "again", "this many", "no one", "all of", "three
# times", "attributed to it".
FORBIDDEN = re.compile(
    r"\b(stands|told|reckon\w*|mend(?:s|ed|ing)?|anew|so\s+many|nobody|whole\s+of|thrice|of\s+its\s+own\s+doing)\b",
    re.IGNORECASE,
)
_FENCE = re.compile(r"^( *)(`{3,}|~{3,}|:{3,}).*?^\1\2\s*$", re.M | re.S)
_BLOCK_MATH = re.compile(r"^\$\$.*?^\$\$\s*$", re.M | re.S)
_NOT_PROSE = re.compile(r"^\s*(\||#|!\[|\(?<!--|\[\^?\w+\]:)")
_ITEM = re.compile(r"^\s*([-*+]|\d+\.)\s+")
_ABBREVIATION = re.compile(r"\b(Eqs?|Figs?|Sec|al|vs|e\.g|i\.e|No|p|pp|cf|St)\.$")
# The end of a sentence: its stop, what closes around it, and the beginning of another.
_STOP = re.compile(r"[.!?][)\"'*_]*\s+(?=[\"'(*_]*[A-Z0-9`])")


def sentences(text):
    """Return the sentences of a page: its paragraphs and list items without code, tables, headings and formulas."""
    text = _BLOCK_MATH.sub("\n", _FENCE.sub("\n", text))
    return [sentence for paragraph in _paragraphs(text) for sentence in _split(_plain(paragraph))]


def _paragraphs(text):
    """Yield paragraphs and list items; what is indented after an empty line is code, unless in a list."""
    lines, in_list, after_empty = [], False, True
    for line in [*text.splitlines(), ""]:
        item = _ITEM.match(line)
        ends = not line.strip() or _NOT_PROSE.match(line) or item
        if ends and lines:
            yield " ".join(lines)
            lines = []
        if item:
            in_list, line = True, line[item.end() :]
        elif line.strip() and not line.startswith(" "):
            in_list = in_list and not after_empty
        code = after_empty and line.startswith("    ") and not in_list
        after_empty = not line.strip() or (after_empty and code)
        if line.strip() and not code and not _NOT_PROSE.match(line):
            lines.append(line.strip())


def _plain(paragraph):
    """Return a paragraph with each formula, piece of code and role as one word, and links as their text.

    The words begin with capitals, since a sentence may begin with code.
    """
    paragraph = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", paragraph)
    paragraph = re.sub(r"\{[\w:]+\}`[^`]*`", "Role", paragraph)
    paragraph = re.sub(r"(`+).+?\1", "Code", paragraph)
    paragraph = re.sub(r"\$[^$]+\$", "Formula", paragraph)
    paragraph = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", paragraph)
    return re.sub(r"\*\*|__", "", paragraph)


def _split(paragraph):
    parts, begin = [], 0
    for stop in _STOP.finditer(paragraph):
        part = paragraph[begin : stop.start() + 1]
        if not _ABBREVIATION.search(part):
            parts.append(paragraph[begin : stop.end()].strip())
            begin = stop.end()
    return [part for part in (*parts, paragraph[begin:].strip()) if part]


def words(sentence):
    return [word for word in sentence.split() if re.search(r"\w", word)]


def test_sentences_are_found_between_code_tables_headings_and_formulas():
    text = """# A heading. It is none

First one, by Eq. 5 and [a link](page.md#part). The
second has `code. With stops` and $f(x). g$! (A third.)

| a table. | is none. |
|---|---|

- An item. Its second sentence

      of two lines
- Another: `x`

Between.

    indented code. None.

```python
# A comment. None.
```

$$
a. B
$$

Last, by Wen et al. 2013, is 1.5 s.
"""
    assert sentences(text) == [
        "First one, by Eq. 5 and a link.",
        "The second has Code and Formula!",
        "(A third.)",
        "An item.",
        "Its second sentence",
        "of two lines",
        "Another: Code",
        "Between.",
        "Last, by Wen et al. 2013, is 1.5 s.",
    ]


def test_words_are_counted_without_signs_and_forbidden_ones_found_across_lines():
    assert len(words("a - b (c), d = 5")) == 5
    assert [found[0] for found in FORBIDDEN.finditer("It stands anew. A stand-in, so\nmany, is mended.")] == [
        "stands",
        "anew",
        "so\nmany",
        "mended",
    ]


@pytest.mark.parametrize("page", sorted({*PAGES, *HABITS} - {*MADE}), ids=lambda page: str(page.relative_to(ROOT)))
def test_sentences_of_the_pages_are_short(page):
    long = [one for one in sentences(page.read_text()) if len(words(one)) > MOST_WORDS]
    assert not long, f"{len(long)} sentences of more than {MOST_WORDS} words:\n" + "\n".join(long)


@pytest.mark.parametrize("page", [*PAGES, *HABITS], ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_use_common_words(page):
    found = private_words(page.read_text())
    assert not found, f"{page.name}: " + ", ".join(found)


def private_words(text):
    """Return each forbidden word with the number of its line."""
    return [f"{found[0]!r} in line {text.count(chr(10), 0, found.start()) + 1}" for found in FORBIDDEN.finditer(text)]


def prose_of_code(path):
    """Return what a source file says in words: comments and strings of Python, all of any other file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return text
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = [token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT]
    constants = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
    # Comments of several lines are one text.
    return "\n".join(["\n".join(comments), *(value for value in constants if isinstance(value, str))])


def test_comments_docstrings_and_messages_use_common_words():
    found = {
        str(path.relative_to(ROOT)): count for path in SOURCES if (count := len(FORBIDDEN.findall(prose_of_code(path))))
    }
    assert not found, f"{sum(found.values())} in {len(found)} files: {found}"


def test_the_readme_is_short():
    assert len(README.read_text().splitlines()) <= MOST_README_LINES


@pytest.mark.parametrize("page", [*PAGES, *HABITS], ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page):
    text = _FENCE.sub("\n", page.read_text())
    targets = re.findall(r"\]\(<?([^)#>\s]+)", text) + re.findall(r"<img[^>]*\bsrc=\"([^\"]+)\"", text)
    # The gallery is made with the pages.
    wanted = [one for one in targets if not re.match(r"\w+:", one) and one.split("/")[0] != "gallery"]
    wanted = [one for one in wanted if page not in MADE or one.split("/")[0] != "reports"]
    missing = [one for one in wanted if not (page.parent / one).exists()]
    assert not missing, f"{page.name} links to {missing}"
