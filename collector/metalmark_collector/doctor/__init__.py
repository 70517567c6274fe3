"""Whether this machine can be measured well: it is looked at once, and one table of checks judges what was seen.

``observe`` looks, ``examine`` judges, and nothing but ``observe`` touches the machine.
"""

from .checks import CHECKS, examine
from .finding import Finding, State, exit_code
from .observe import observe
from .sight import Sight

__all__ = ["CHECKS", "Finding", "Sight", "State", "examine", "exit_code", "observe"]
