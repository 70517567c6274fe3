"""Error texts without what tells one person or computer from another."""

import getpass
import ipaddress
import os
import platform
import re
from pathlib import Path

LONGEST = 2000
_SHORTEST = 3
_MAC = re.compile(r"\b[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}\b")
_UUID = re.compile(r"\b[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b")
_IPV4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.])")
_COLONS = re.compile(r"(?<![\w:])[0-9A-Fa-f]*:[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*(?![\w:])")
# A path keeps its last part, which names the library's file; the folders before it may name a person.
_QUOTED_PATH = re.compile(r"""(?<=["'`])~?/[^"'`\n]*/""")  # quotes hold spaces together
_PATH = re.compile(r"(?<![\w:/.])~?/(?:[^\s/:\"'<>|]+/)+")
# Short or everyday words would tear holes into harmless text, and tell nobody apart. A user may be called max.
_EVERYDAY = re.compile(
    "root|user|admin|localhost|local|runner|torch|python|metal|apple|intel|nvidia|linux|darwin|macos|mac|max|pro|ultra"
    "|air|mini|studio|super|performance|efficiency|standard|memory|error",
    re.IGNORECASE,
)

_PATTERNS = (
    (_QUOTED_PATH, ".../"),
    (_PATH, ".../"),
    (_UUID, "<uuid>"),
    (_MAC, "<mac>"),
    (_IPV4, "<ip>"),
)


def scrub(text: str) -> str:
    """The text with user, host, home, paths, addresses and hardware identifiers taken out.

    The end is kept when it is longer than 2,000 characters, for the last message is the one that counts.
    """
    text = cover(text)
    return text if len(text) <= LONGEST else "..." + text[3 - LONGEST :]


def cover(text: str) -> str:
    """The same, of any length."""
    for pattern, cover in _PATTERNS:
        text = pattern.sub(cover, text)
    text = _COLONS.sub(_without_ipv6, text)
    for secret, cover in _secrets():
        text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", cover, text, flags=re.IGNORECASE)
    return text


def _without_ipv6(found: re.Match[str]) -> str:
    try:
        ipaddress.IPv6Address(found[0])
    except ValueError:
        return found[0]  # a time of day, a C++ name
    return "<ip>"


def _secrets() -> list[tuple[str, str]]:
    """Names of this computer and its user, longest first, so that no part of one is left over."""
    host = platform.node()
    named = [(str(Path.home()), "<home>"), (host, "<host>"), (host.partition(".")[0], "<host>")]
    try:
        named.append((getpass.getuser(), "<user>"))
    except (OSError, KeyError):  # a container may run as a user without a name
        named.append((os.environ.get("USER", ""), "<user>"))
    telling = {pair for pair in named if len(pair[0]) >= _SHORTEST and not _EVERYDAY.fullmatch(pair[0])}
    return sorted(telling, key=lambda pair: -len(pair[0]))
