"""What a database's own words mean for a person, and what to do now."""

import sqlalchemy as sa

from .errors import DatabaseProblem

_ELSEWHERE = "or name another database with --db or METALMARK_DB"
# Words of SQLite, of PostgreSQL and of the system, and what helps; the first that fits counts.
_WHAT_HELPS = (
    (("is locked",), "Another program is writing to it. Try again when that one has ended"),
    (("is full", "disk i/o", "no space", "too large", "disk full"), "Make room on its disk, then do the same again"),
    (
        ("malformed", "corrupt"),
        'The file is damaged. Put a copy from a backup in its place, or rescue what is left: sqlite3 FILE ".recover"',
    ),
    (("not a database",), f"Check the path, {_ELSEWHERE}"),
    (
        ("readonly", "read-only", "permission denied", "not permitted", "must be owner"),
        f"It may only be read, and this needs to write to it. Ask for the right to, {_ELSEWHERE}, such as a copy",
    ),
    (
        ("password", "authentication", "no pg_hba.conf entry", 'role "'),
        "Check the role and the password in the address; without a password in it, PGPASSWORD and ~/.pgpass are asked",
    ),
    (('database "',), "Check the name in the address, or let somebody make it with: createdb NAME"),
    (
        (
            "refused",
            "resolve",
            "timeout",
            "timed out",
            "unreachable",
            "no route",
            "no such file",
            "closed the conn",
            "terminating",
        ),
        "Check that the server runs, and its name and port in the address",
    ),
)
_OTHERWISE = (
    f"Check that the path is right, that it is a Metalmark database, and that you may write there; {_ELSEWHERE}"
)


def is_trouble(error: sa.exc.DBAPIError) -> bool:
    """Whether the database is what fails, such as one that is locked, full or lost, and not what was asked of it."""
    if isinstance(error, sa.exc.ProgrammingError):
        return "permission denied" in str(error.orig)
    return isinstance(error, sa.exc.DatabaseError) and not isinstance(error, (sa.exc.IntegrityError, sa.exc.DataError))


def unusable(name: str, error: BaseException, *, opened: bool = False) -> DatabaseProblem:
    """The error that tells a person which database failed and what to try; ``opened`` when work had begun."""
    said = str(getattr(error, "orig", None) or error).strip().splitlines()
    cause = said[0].rstrip(".") if said else type(error).__name__
    helps = next((help_ for words, help_ in _WHAT_HELPS if any(word in cause.lower() for word in words)), _OTHERWISE)
    state = "What had been stored before is kept." if opened else "Nothing in it was changed."
    return DatabaseProblem(f"The database {name} cannot be used: {cause}. {helps}. {state}")
