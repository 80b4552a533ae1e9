"""Tables of words: as lines of text, and for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby

__all__ = ["html", "shortened", "text"]

#: Rows up to which a table is printed whole, entries of an array up to which a longer one has them all, and entries that it has of others.
_WHOLE, _SHORT, _FIRST = 100, 20, 10


def shortened(rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """A table for print: a long one has the first ten entries of each array with more than twenty, and the last."""
    head, *body = rows
    if len(body) <= _WHOLE:
        return [*rows]
    shown: list[Sequence[str]] = [head]
    for _, group in groupby(body, lambda row: row[0].partition("[")[0]):
        entries = list(group)
        if len(entries) > _SHORT:
            left = [f"... {len(entries) - _FIRST - 1} more", *[""] * (len(head) - 1)]
            entries = [*entries[:_FIRST], left, entries[-1]]
        shown += entries
    return shown


def text(rows: Sequence[Sequence[str]], widths: Sequence[int]) -> str:
    """Rows as lines, each word at the right of its column."""
    return "\n".join(" ".join(f"{word:>{width}}" for word, width in zip(row, widths, strict=True)) for row in rows)


def html(rows: Sequence[Sequence[str]]) -> str:
    """Rows as a table of HTML: the first has the headings, and each begins with its name."""
    head, *body = [[escape(word) for word in row] for row in rows]
    lines = "".join(f"<tr><th>{row[0]}</th>{''.join(f'<td>{word}</td>' for word in row[1:])}</tr>" for row in body)
    return f"<table><thead><tr>{''.join(f'<th>{word}</th>' for word in head)}</tr></thead><tbody>{lines}</tbody></table>"
