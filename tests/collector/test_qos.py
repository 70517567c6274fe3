"""The QoS class of the calling thread: asked for on macOS alone, and never a reason to fail."""

import ctypes
import platform

import pytest

from metalmark_collector.qos import ask_user_initiated, current

USER_INITIATED = 0x19


class LibSystem:
    """The two calls of macOS as they behave: a class is kept unless it is refused."""

    def __init__(self, error: int = 0, kept: int | None = None, *, background: bool = False) -> None:
        self.error = error
        self.background = background
        self.kept = kept
        self.asked: list[tuple[int, int]] = []

    def pthread_set_qos_class_self_np(self, qos: int, relative: int) -> int:
        """Zero, or an error number."""
        self.asked.append((qos, relative))
        if self.error == 0 and self.kept is None:
            self.kept = qos
        return self.error

    def getpriority(self, _which: int, _who: int) -> int:
        """Whether the process was put to the background."""
        return int(self.background)

    def qos_class_self(self) -> int:
        """The class of this thread."""
        return self.kept or 0


def test_on_a_mac_the_thread_gets_the_user_initiated_class() -> None:
    library = LibSystem()
    assert ask_user_initiated("Darwin", library) is True
    assert library.asked == [(USER_INITIATED, 0)]


@pytest.mark.parametrize("library", [LibSystem(error=1), LibSystem(kept=0x11)])
def test_a_refusal_is_told(library: LibSystem) -> None:
    assert ask_user_initiated("Darwin", library) is False


def test_elsewhere_there_is_nothing_to_ask_for() -> None:
    assert ask_user_initiated("Linux") is None
    if platform.system() != "Darwin":
        assert ask_user_initiated() is None


def test_a_library_without_the_calls_raises_nothing() -> None:
    """Linux's own C library has neither."""
    missing = not hasattr(ctypes.CDLL(None), "qos_class_self")
    assert ask_user_initiated("Darwin") is (not missing)


@pytest.mark.parametrize(
    ("library", "name"),
    [
        (LibSystem(kept=0x21), "user-interactive"),
        (LibSystem(kept=0x11), "utility"),
        (LibSystem(), "unspecified"),
        (LibSystem(kept=0x77), None),
        (LibSystem(kept=0x21, background=True), "background"),  # as `taskpolicy -b` starts a program
    ],
)
def test_the_class_that_a_run_was_started_in_is_named(library: LibSystem, name: str | None) -> None:
    assert current("Darwin", library) == name


def test_without_such_classes_there_is_none_to_name() -> None:
    assert current("Linux", LibSystem()) is None
    assert current("Darwin", object()) is None
