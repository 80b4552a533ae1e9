"""Tables of words: as lines of text, and for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

__all__ = ["html", "text"]


def text(rows: Sequence[Sequence[str]], widths: Sequence[int]) -> str:
    """Rows as lines, each word at the right of its column."""
    return "\n".join(" ".join(f"{word:>{width}}" for word, width in zip(row, widths, strict=True)) for row in rows)


def html(rows: Sequence[Sequence[str]]) -> str:
    """Rows as a table of HTML: the first has the headings, and each begins with its name."""
    head, *body = [[escape(word) for word in row] for row in rows]
    lines = "".join(f"<tr><th>{row[0]}</th>{''.join(f'<td>{word}</td>' for word in row[1:])}</tr>" for row in body)
    return f"<table><thead><tr>{''.join(f'<th>{word}</th>' for word in head)}</tr></thead><tbody>{lines}</tbody></table>"
