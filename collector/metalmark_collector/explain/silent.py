"""Wrong results that raise no error: what a program prints when it compares, or prints garbage."""

import re

_NUMBER = r"(-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|nan|inf)"
_DEVIATION = re.compile(
    r"\b(?:accumulative_error|(?:(?:max|mean|abs|absolute|rel|relative)[ _]){1,4}(?:err(?:or)?|diff(?:erence)?)|rel)"
    rf"\s*[:=]\s*{_NUMBER}",
    re.IGNORECASE,
)
_VERDICT = re.compile(
    r"\b(?:[Ee]qual|allclose|[Cc]lose|[Ss]ame|[Mm]atch(?:es)?)\b[^\n]{0,40}?[:=?>]\s*False\b"
    r"|\b(?:DIVERGED|MISMATCH|WRONG|INCORRECT)\b"
    r"|\b(?:results?|outputs?) (?:differ|do(?:es)? not match|(?:is|are) (?:wrong|incorrect))",
)
_NOT_A_NUMBER = re.compile(
    r"loss\b\W{1,4}(?:tensor\()?nan\b|\bloss (?:is|became|was|=) nan\b|\bnan loss\b|tensor\([^()]*\bnan\b",
    re.IGNORECASE,
)
_TENSOR = re.compile(r"tensor\(([\[\]0-9,\s-]+), device='(?:mps|cuda)[^']*'")
_LARGE_ERROR = 0.01
_OUTLIER = 10**6  # how far one integer stands out from all others to be taken for garbage


def wrong_result(text: str) -> re.Match[str] | None:
    """The place where a program says, or shows, that its result is wrong."""
    deviations = [match for match in _DEVIATION.finditer(text) if _large(match[1])]
    found = [*_VERDICT.finditer(text), *deviations, *_NOT_A_NUMBER.finditer(text)]
    found += [match for match in _TENSOR.finditer(text) if _garbage(match[1])]
    return max(found, key=lambda match: match.start(), default=None)


def _large(text: str) -> bool:
    return not abs(float(text)) <= _LARGE_ERROR  # also true for nan


def _garbage(text: str) -> bool:
    numbers = sorted(abs(int(digits)) for digits in re.findall(r"-?[0-9]{1,20}", text))
    return len(numbers) > 1 and numbers[-1] > 2**32 and numbers[-1] > _OUTLIER * max(numbers[-2], 1)
