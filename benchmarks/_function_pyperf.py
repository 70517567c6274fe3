"""The same function as pyperf times it, with pyperf's own options on the command line."""

import pyperf  # type: ignore[import-untyped]  # ships no types

from _function import work

if __name__ == "__main__":
    pyperf.Runner().bench_func("sha256", work)
