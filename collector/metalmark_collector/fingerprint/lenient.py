"""A reader of JSON that keeps what came before the text breaks off."""

import json
import re

from .values import lines

_TOKEN = re.compile(r"""\s*(?:([{}\[\],:])|"((?:[^"\\]|\\.)*)"|(-?[0-9][0-9.eE+-]*|true|false|null))""", re.DOTALL)

# Where JSON begins a line: a log line with brackets before it is passed over.
_START = re.compile(r"""^\s*[{\[](?=\s*(?:["{}\[\]]|[0-9-]|true|false|null|$))""", re.MULTILINE)

Container = dict[str, object] | list[object]


def loads(text: str | None) -> Container | None:
    """The first object or array of a text, as far as it can be read.

    Log lines before and between, a comma too many, and an end in the middle are forgiven. A last
    value that may be cut (a string without its quote, a number at the very end) is left out.
    """
    joined = "\n".join(lines(text))
    start = _START.search(joined) or re.search(r"[{\[]", joined)
    return _Reader().read(joined, start.end() - 1) if start else None


class _Reader:
    def __init__(self) -> None:
        self.root: Container | None = None
        self.open: list[Container] = []
        self.key: str | None = None

    def read(self, text: str, position: int) -> Container | None:
        while match := _TOKEN.match(text, position):
            position = match.end()
            mark, string, word = match.groups()
            if mark is not None:
                self.mark(mark)
            elif string is not None:
                self.string(string)
            elif position < len(text):
                self.put(_scalar(word))
            if not self.open:
                break
        return self.root

    def mark(self, mark: str) -> None:
        if mark in "{[":
            container: Container = {} if mark == "{" else []
            self.put(container)
            self.open.append(container)
        elif mark in "}]":
            self.open.pop()
        if mark != ":":
            self.key = None

    def string(self, raw: str) -> None:
        text = _scalar(f'"{raw}"')
        if isinstance(self.open[-1], dict) and self.key is None:
            self.key = str(text)
        else:
            self.put(text)

    def put(self, value: object) -> None:
        if not self.open:
            self.root = value if isinstance(value, dict | list) else None
        elif isinstance(top := self.open[-1], list):
            top.append(value)
        elif self.key is not None:
            top[self.key] = value
            self.key = None


def _scalar(text: str) -> object:
    try:
        return json.loads(text, strict=False)
    except ValueError:
        return None
