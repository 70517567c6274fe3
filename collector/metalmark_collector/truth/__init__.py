"""Whether a device computes what it should: its output held against the CPU's."""

from .check import check_case

__all__ = ["check_case"]
