"""The errors that a person sees: what went wrong, where, and what to do now."""


class MetalmarkError(Exception):
    """A problem with one clear paragraph for the person at the terminal.

    Raised anywhere, caught only in ``metalmark_db.cli.main``, which prints the text and exits with
    ``exit_code``. Each subclass has an exit code of its own, so that scripts can tell them apart.
    """

    exit_code = 1


class UsageProblem(MetalmarkError):
    """A name or value on the command line that Metalmark does not know."""

    exit_code = 2


class DatabaseProblem(MetalmarkError):
    """A database that cannot be opened, read or written."""

    exit_code = 3


class DataProblem(MetalmarkError):
    """A file of data (CSV, JSON) that is malformed."""

    exit_code = 4


class MissingPart(MetalmarkError):
    """An optional part (torch, the site's packages, the built assets) that is not installed."""

    exit_code = 5


class QueryProblem(MetalmarkError):
    """A query that the database refuses."""

    exit_code = 6
