"""Texts without what tells one person or computer from another: names, paths, addresses, numbers of devices."""

import contextlib
import getpass
import ipaddress
import os
import platform
import pwd
import re
import socket
from collections.abc import Iterator
from pathlib import Path

LONGEST = 2000
_SHORTEST = 3
_NOT_AFTER_WORD, _NOT_BEFORE_WORD = r"(?<![^\W_])", r"(?![^\W_])"  # an underscore is no part of a name
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,6}\.[A-Za-z]{2,24}\b")
_MAC = re.compile(
    r"\b(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}\b|\b(?:[0-9A-Fa-f]{2}-){5}[0-9A-Fa-f]{2}\b"
    r"|\b[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}\b"
)
_UUID = re.compile(r"\b[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b")
_UDID = re.compile(r"\b[0-9A-Fa-f]{8}-[0-9A-Fa-f]{16}\b")
# A number that says so, and one that looks like Apple's: ten to twelve capitals and digits, no unit of a processor
# and no product number of Lenovo.
_NAMED_SERIAL = re.compile(
    r"(serial(?:[ _-]?(?:number|no|num))?\b(?: \(system\))?[\"']?\s{0,3}[:=#]?\s{0,3}[\"']?)"
    r"(?=[A-Z]*[0-9])[A-Z0-9-]{6,40}\b",
    re.IGNORECASE,
)
_SERIAL = re.compile(
    r"\b(?!AVX|SSE|SHA|ARM|\w{4}CTO)(?=(?:[A-Z]*[0-9]){2})(?=(?:[0-9]*[A-Z]){2})(?=[A-Z0-9]{10,12}\b)[A-Z0-9]{10,12}\b"
)
_IPV4 = re.compile(r"(?<![^\W_])(?<!\.)(?:\d{1,3}\.){3}\d{1,3}(?!\w|\.\d)")
_COLONS = re.compile(r"(?<![\w:])[0-9A-Fa-f]*:[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*(?!\w)")
# A path keeps its last part, which names the library's file; the folders before it may name a person.
_QUOTED_PATH = re.compile(r"""(?<=["'`])(?:file:)?~?/[^"'`\n]*/""")  # quotes hold spaces together
_PATH = re.compile(r"(?:(?<![\w/.])|(?<=file://))(?:~[\w.-]*)?/(?!/)(?:[^\s/:\"'<>|]+/)+")
_WINDOWS_PATH = re.compile(r"\b[A-Za-z]:\\(?:[^\\\s\"'<>|]+\\)+")
_TEMPORARY = re.compile(r"(?:/private)?/var/folders/[^\s\"'`:<>|]+")
_HOME = re.compile(r"[/\\](?:Users|home)[/\\]+([^\s/\\\"'`:;,<>|()\[\]{}]+)")
# As macOS calls a computer after its owner, and as it is called in its network.
_OWNED = re.compile(r"[\w.]{1,60}(?:['\u2019]s[ -]|s?-)(?=(?:MacBook|iMac|Mac)\b)[\w-]{1,60}(?:\.\w{1,20})?")
_LOCAL = re.compile(r"\b[A-Za-z0-9]+(?:-[A-Za-z0-9]+)+\.(?:local|lan|home|internal|fritz\.box)\b")
# Short or everyday words would tear holes into harmless text, and tell nobody apart. A user may be called max.
_EVERYDAY = re.compile(
    "root|user|users|admin|administrator|system administrator|shared|guest|localhost|local|runner|torch|python|metal"
    "|apple|intel|nvidia|amd|linux|darwin|macos|mac|macbook|max|pro|ultra|air|mini|studio|super|performance|efficiency"
    "|standard|memory|error|ubuntu|debian|fedora|generic|aws|azure|gcp|cloud|test|build|work|worker|model|data|home"
    "|device|tensor|conda|cuda|mps|cpu|gpu",
    re.IGNORECASE,
)

_PATTERNS = (
    (_EMAIL, "<email>"),
    (_QUOTED_PATH, ".../"),
    (_PATH, ".../"),
    (_WINDOWS_PATH, ".../"),
    (_TEMPORARY, "<folder>"),
    (_HOME, "/<home>"),
    (_UUID, "<uuid>"),
    (_UDID, "<uuid>"),
    (_MAC, "<mac>"),
    (_IPV4, "<ip>"),
    (_NAMED_SERIAL, r"\1<serial>"),
    (_SERIAL, "<serial>"),
    (_OWNED, "<host>"),
    (_LOCAL, "<host>"),
)


def scrub(text: str) -> str:
    """The text with user, host, home, paths, addresses and hardware identifiers taken out.

    The end is kept when it is longer than 2,000 characters, for the last message is the one that counts.
    """
    text = cover(text)
    return text if len(text) <= LONGEST else "..." + text[3 - LONGEST :]


def cover(text: str) -> str:
    """The same, of any length."""
    elsewhere = [(name.rstrip("."), "<user>") for name in _HOME.findall(text)]  # whose home a path tells
    for pattern, instead in _PATTERNS:
        text = pattern.sub(instead, text)
    return _without(_COLONS.sub(_without_ipv6, text), [*_known(), *elsewhere])


def cover_names(text: str) -> str:
    """The text without the names of this computer and its user alone: versions look like addresses."""
    return _without(text, _known())


def _without(text: str, secrets: list[tuple[str, str]]) -> str:
    """The text without these names, the longest first, so that no part of one is left over."""
    telling = {pair for pair in secrets if len(pair[0]) >= _SHORTEST and not _EVERYDAY.fullmatch(pair[0])}
    for secret, instead in sorted(telling, key=lambda pair: (-len(pair[0]), pair)):
        name = rf"{_NOT_AFTER_WORD}{re.escape(secret)}{_NOT_BEFORE_WORD}"
        text = re.sub(name, instead, text, flags=re.IGNORECASE)
    return text


def _without_ipv6(found: re.Match[str]) -> str:
    """An address is covered, and the point or colon after it stays."""
    address = found[0].rstrip(".")
    for candidate in (address, address.removesuffix(":")):
        with contextlib.suppress(ValueError):
            ipaddress.IPv6Address(candidate)
            return "<ip>" + found[0][len(candidate) :]
    return found[0]  # a time of day, a C++ name


def _known() -> list[tuple[str, str]]:
    """Names of this computer and its user, as far as the system tells them."""
    hosts = (name for told in (platform.node(), socket.gethostname()) for name in (told, told.partition(".")[0]))
    return [
        (str(Path.home()), "<home>"),
        *((host, "<host>") for host in hosts),
        *((user, "<user>") for user in _users()),
    ]


def _users() -> Iterator[str]:
    """The user's names; a container may run as a user without one."""
    with contextlib.suppress(OSError, KeyError):
        yield getpass.getuser()
    with contextlib.suppress(KeyError):
        account = pwd.getpwuid(os.getuid())
        yield from (account.pw_name, account.pw_gecos.partition(",")[0].strip())
    yield from (os.environ.get(name, "") for name in ("USER", "LOGNAME", "SUDO_USER"))
