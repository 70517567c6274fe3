"""Where the vocabularies of the collector meet those of the record."""

from metalmark_db.words import Outcome

# Kinds that `explain` prints (the vocabulary of recorded failures) -> outcomes of a case.
OUTCOMES = {
    "ok": Outcome.OK,
    "unsupported_op": Outcome.UNSUPPORTED_OP,
    "out_of_memory": Outcome.OUT_OF_MEMORY,
    "crash": Outcome.CRASH,
    "timeout": Outcome.TIMEOUT,
    "wrong_result": Outcome.WRONG_RESULT,
    "no_backend": Outcome.NO_BACKEND,
    "fallback": Outcome.OK,  # with fallback ops
    "other": Outcome.ERROR,
}
