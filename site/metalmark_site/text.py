"""Contributed text made harmless: machine names, versions and error texts are never markup, paths or addresses."""

import html
import re
import unicodedata

# Markdown that our own code wrote; everything else is escaped on its way into a page.
_SAFE_ADDRESS = re.compile(r"https://[A-Za-z0-9][A-Za-z0-9./_%?=&~+#-]*[A-Za-z0-9/]")
_NAME = re.compile(r"`([A-Za-z0-9_.-]+)`")
_DIGITS = re.compile(r"([0-9]{1,18})")  # longer ones are no sizes, and Python refuses to read very long ones
_HARMLESS = frozenset(" ,/%@")
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


class Markdown(str):
    """Text that is Markdown already: written by us or made inert before."""

    __slots__ = ()


def one_line(text: str) -> str:
    """The text on one line, without control, format and direction characters."""
    visible = "".join(" " if unicodedata.category(c) in _INVISIBLE else c for c in text)
    return " ".join(visible.split())


def inert(text: object) -> Markdown:
    """The text as Markdown that shows exactly these characters and can mean nothing else."""
    if text is None:
        return Markdown("not known")
    line = one_line(str(text))
    return Markdown("".join(_inert(c, line[i - 1 : i], line[i + 1 : i + 2]) for i, c in enumerate(line)))


def _inert(character: str, before: str, after: str) -> str:
    if not character.isascii() or character.isalnum() or character in _HARMLESS:
        return character
    # A dot or hyphen inside a word ("2.11", "resnet50-train") starts no list and no rule: keep pages readable.
    if character in ".-" and before.isalnum() and after.isalnum():
        return character
    return f"&#{ord(character)};"


def finalize(value: object) -> str:
    """What Jinja2 writes for an expression: our Markdown as it is, anything else inert."""
    return value if isinstance(value, Markdown) else inert(value)


def plain(text: str) -> str:
    """The text for titles and headings, which themes print raw: letters, digits and mild punctuation only."""
    kept = "".join(c if c.isalnum() or c in " .,()+-/×·?:" else " " for c in one_line(text))
    return " ".join(kept.split()) or "Unnamed"


def escape(text: object) -> str:
    """The text inside HTML, on one line."""
    return html.escape(one_line(str(text)), quote=True)


def shorten(text: str, length: int) -> str:
    """The text on one line, cut to at most ``length`` characters with an ellipsis."""
    line = one_line(text)
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def shorten_inside(text: str, length: int) -> str:
    """The same, but what stands behind the last comma is kept: "BERT base training…, batch 4"."""
    line = one_line(text)
    head, comma, tail = line.rpartition(", ")
    room = length - len(comma + tail)
    if len(line) <= length or room < length // 2:
        return shorten(line, length)
    return f"{head[: room - 1].rstrip(' ,')}…{comma}{tail}"


def slug(text: str) -> str:
    """Lower-case letters, digits and hyphens: a part of a file name or an id, never empty."""
    return re.sub(r"[^a-z0-9]+", "-", one_line(text).lower()).strip("-") or "unnamed"


def natural(text: str) -> tuple[int | str, ...]:
    """A key that sorts by the numbers in a text: "batch 8" before "batch 32"."""
    # Texts and numbers in turn, so that like meets like.
    return tuple(int(part) if place % 2 else part for place, part in enumerate(_DIGITS.split(text)))


def addresses(text: str) -> Markdown:
    """The text made inert, with the https addresses in it as links."""
    parts: list[str] = []
    end = 0
    for found in _SAFE_ADDRESS.finditer(one_line(text)):
        parts += [inert_part(found.string[end : found.start()]), f"<{found.group()}>"]
        end = found.end()
    return Markdown("".join(parts) + inert_part(one_line(text)[end:]))


def described(text: str) -> Markdown:
    """The text made inert, with plain names between backticks as code."""
    parts = _NAME.split(one_line(text))  # texts and names in turn
    return Markdown("".join(f"`{part}`" if place % 2 else inert_part(part) for place, part in enumerate(parts)))


def inert_part(text: str) -> str:
    """Inert text that keeps the blanks at its ends, for joining."""
    core = inert(text)
    return f"{' ' * text.startswith(' ')}{core}{' ' * (text.endswith(' ') and bool(core))}"
