"""The document: what is handed in of a run, as canonical bytes with a digest over what was measured.

The digest is over the bytes of ``run`` as msgspec writes them: keys sorted, what is unknown left out, samples in whole
nanoseconds. Whom to credit and the facts of the workloads stand beside it in the envelope and may change.
"""

import hashlib
import math
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from .errors import DataProblem
from .record import Case, Run, Workload, meaning

FORMAT_VERSION = 1
MOST_BYTES = 32 * 2**20  # of one document: a full run has some 2 MB

Handle = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]{0,38}\Z")]


class Document(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A run with its envelope."""

    format_version: Annotated[int, meaning("Version of the format of documents", ge=1)]
    digest: Annotated[
        str, meaning("SHA-256 over the canonical bytes of run, in hexadecimal digits", pattern=r"^[0-9a-f]{64}\Z")
    ]
    handle: Annotated[Handle | None, meaning("Whom to credit, if anybody: a name as code hosts allow it")] = None
    workloads: Annotated[tuple[Workload, ...], meaning("Facts of the workloads that the run names")] = ()
    run: Run


class _Version(Struct):
    format_version: Annotated[int, Meta(ge=1)]


_ENCODER = msgspec.json.Encoder(order="sorted")
_VERSION = msgspec.json.Decoder(_Version)
_DECODER = msgspec.json.Decoder(Document)
_RUN = msgspec.json.Decoder(Run)
_WORKLOADS = msgspec.json.Decoder(tuple[Workload, ...])


def canonical(run: Run) -> bytes:
    """The bytes that the digest of a run is over: the same for the same run, whatever wrote them down."""
    return _ENCODER.encode(run)


def digest_of(run: Run) -> str:
    """The digest of a run, which names its document."""
    return hashlib.sha256(canonical(run)).hexdigest()


def document_of(run: Run, workloads: tuple[Workload, ...], handle: str | None = None) -> Document:
    """The document of a run. Numbers that JSON has no word for (NaN of a wrong result) are unknown in it."""
    run = msgspec.structs.replace(run, cases=tuple(map(_writable, run.cases)))
    run = _RUN.decode(canonical(run))  # as its readers will have it: a whole number in a field of fractions is 8.0
    workloads = _WORKLOADS.decode(_ENCODER.encode(workloads))
    used = {(case.workload, case.version) for case in run.cases}
    told = {(one.id, one.version): one for one in workloads}
    return Document(
        format_version=FORMAT_VERSION,
        digest=digest_of(run),
        handle=handle,
        workloads=tuple(told[key] for key in sorted(used & set(told))),
        run=run,
    )


def encode(document: Document) -> bytes:
    """The document as it is handed in: one line of JSON in UTF-8, its keys sorted."""
    return _ENCODER.encode(document) + b"\n"


def decode(data: bytes) -> Document:
    """The document in these bytes, whose digest has been compared with what it holds.

    Raises:
        DataProblem: it is no document, of a newer format, or changed since it was written.
    """
    if len(data) > MOST_BYTES:
        raise DataProblem(f"it has {len(data):,} bytes, and a document has at most {MOST_BYTES:,}")
    try:
        document = _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:  # a ValidationError is a DecodeError
        _refuse_newer(_version(data))
        raise DataProblem(f"it is no document of a run: {error}") from error
    _refuse_newer(document.format_version)
    if digest_of(document.run) != document.digest:
        raise DataProblem("its digest is not that of its run: it was changed or damaged after it was written")
    return document


def schema() -> bytes:
    """The JSON Schema of documents, indented, from the types that read them."""
    made = msgspec.json.schema(Document)
    return msgspec.json.format(_ENCODER.encode(made), indent=2) + b"\n"


def _version(data: bytes) -> int:
    """The format that a text states which is no document of ours; 0 where it states none."""
    try:
        return _VERSION.decode(data).format_version
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return 0


def _refuse_newer(version: int) -> None:
    if version > FORMAT_VERSION:
        raise DataProblem(
            f"it has the format {version}, which is newer than this Metalmark knows ({FORMAT_VERSION}). "
            "Update with: pip install --upgrade metalmark"
        )


def _writable(case: Case) -> Case:
    """The case without a comparison that holds numbers that are none: its outcome says what they said."""
    truth = case.truth
    if truth is None:
        return case
    numbers = [value for value in msgspec.structs.astuple(truth) if isinstance(value, float)] + list(truth.losses or ())
    return case if all(map(math.isfinite, numbers)) else msgspec.structs.replace(case, truth=None)
