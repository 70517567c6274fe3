"""What an error text means, in old and new wordings, for every kind of device."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalmark_collector.commands.explain import explain as command
from metalmark_collector.explain import Explanation, Kind, explain, fallback_ops
from metalmark_collector.explain.signs import SIGNS
from metalmark_collector.words import OUTCOMES
from metalmark_db.errors import UsageProblem

FALLS_BACK = (
    "UserWarning: The operator 'aten::{op}' is not currently supported on the MPS backend and will fall back to run on"
    " the CPU. This may have performance implications.\n"
)
METAL = "Error: command buffer exited with error status.\n\tError: \n\t(null)\n\t"
LEAKED = "UserWarning: resource_tracker: There appear to be 1 leaked semaphore objects to clean up at shutdown\n"


@pytest.mark.parametrize(
    ("text", "kind", "op", "dtype"),
    [
        ("RuntimeError: Conv3D is not supported on MPS", "unsupported_op", "conv3d", None),
        (
            "RuntimeError: Adaptive pool MPS: input sizes must be divisible by output sizes.",
            "unsupported_op",
            None,
            None,
        ),
        ("NotImplementedError: Output channels > 65536 not supported at the MPS device.", "unsupported_op", None, None),
        (
            "RuntimeError: MPS: inverse op is supported natively starting from macOS 13.2",
            "unsupported_op",
            "inverse",
            None,
        ),
        (
            "NotImplementedError: The operator 'torchvision::nms' is not currently implemented for the MPS device.",
            "unsupported_op",
            "torchvision::nms",
            None,
        ),
        (
            "NotImplementedError: Could not run 'aten::_fft_r2c' with arguments from the 'CUDA' backend.",
            "unsupported_op",
            "aten::_fft_r2c",
            None,
        ),
        ("RuntimeError: MPS does not support cumsum op with int64 input.", "unsupported_op", "cumsum", "int64"),
        ("TypeError: BFloat16 is not supported on MPS", "unsupported_op", None, "bfloat16"),
        ("RuntimeError: MPS BFloat16 is only supported on MacOS 14 or newer", "unsupported_op", None, "bfloat16"),
        ("TypeError: Trying to convert ComplexDouble to the MPS backend but", "unsupported_op", None, "complex128"),
        ("RuntimeError: \"addmm_cpu\" not implemented for 'Half'", "unsupported_op", "addmm_cpu", "float16"),
        ("RuntimeError: Placeholder storage has not been allocated on MPS device!", "other", None, None),
        ("RuntimeError: Expected all tensors to be on the same device, but found mps:0 and cpu!", "other", None, None),
        ("RuntimeError: Torch not compiled with MPS enabled", "no_backend", None, None),
        ("RuntimeError: PyTorch is not linked with support for mps devices", "no_backend", None, None),
        ("AttributeError: module 'torch' has no attribute 'mps'", "no_backend", None, None),
        ("RuntimeError: Found no NVIDIA driver on your system.", "no_backend", None, None),
        (
            "RuntimeError: CUDA error: no kernel image is available for execution on the device",
            "no_backend",
            None,
            None,
        ),
        ("AssertionError: Torch not compiled with XPU enabled", "no_backend", None, None),
        ("torch.AcceleratorError: CUDA error: an illegal memory access was encountered", "crash", None, None),
        ("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling", "out_of_memory", None, None),
        ("RuntimeError: cuda runtime error: out of memory", "out_of_memory", None, None),
        ("zsh: killed     python train.py", "out_of_memory", None, None),
        ("[1]    1234 killed     python train.py", "out_of_memory", None, None),
        ("Segmentation fault: 11", "crash", None, None),
        ("Bus error: 10", "crash", None, None),
        ("Fatal Python error: Aborted", "crash", None, None),
        ("error: 'mps.multiply' op requires the same element type for all operands", "crash", "mul", None),
        ("subprocess.TimeoutExpired: Command timed out after 600 seconds", "timeout", None, None),
        ("torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:", "other", None, None),
        ("ValueError: something else", "other", None, None),
        ("loss: nan", "wrong_result", None, None),
        ("max abs diff: 1e-6\nallclose: True\nloss: 0.31", "ok", None, None),
        (LEAKED, "ok", None, None),
        ("", "ok", None, None),
    ],
)
def test_a_message_has_a_kind_an_operation_and_a_number_format(
    text: str, kind: str, op: str | None, dtype: str | None
) -> None:
    found = explain(text)
    assert (found.kind, found.op, found.dtype) == (kind, op, dtype)
    assert found.advice


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (0, "ok"),
        (1, "other"),
        (2, "other"),
        (124, "timeout"),
        (-9, "out_of_memory"),
        (137, "out_of_memory"),
        (-6, "crash"),
        (134, "crash"),
        (-11, "crash"),
        (139, "crash"),
        (-10, "crash"),
        (-15, "other"),
        (130, "other"),
    ],
)
def test_without_a_message_the_exit_status_decides(status: int, kind: str) -> None:
    assert explain("", status).kind == kind
    assert explain(LEAKED, status).kind == kind


def test_the_last_fatal_message_decides() -> None:
    first = "RuntimeError: MPS backend out of memory (MPS allocated: 1.00 GB). Tried to allocate 2.00 GB\n"
    second = "NotImplementedError: The operator 'aten::x' is not currently implemented for the MPS device.\n"
    assert explain(first + second).op == "aten::x"
    assert explain(second + first).bytes_requested == 2 * 2**30


def test_a_shells_abort_is_only_the_echo_of_the_message_before_it() -> None:
    cause = "[METAL] Command buffer execution failed: Caused GPU Timeout Error\n"
    assert explain(cause + "zsh: abort      python3 ./test.py\n", 134).kind == Kind.TIMEOUT
    assert explain("zsh: abort      python3 ./test.py\n", 134).kind == Kind.CRASH


def test_a_message_that_the_terminal_wrapped_is_still_one_message() -> None:
    text = "RuntimeError: CUDA out of\nmemory. Tried to\nallocate 2.00 GiB (GPU 0)"
    assert explain(text).bytes_requested == 2 * 2**30


def test_the_runners_own_limit_is_a_timeout_whatever_was_printed() -> None:
    assert explain("ValueError: bad", -9, timed_out=True).kind == Kind.TIMEOUT


@pytest.mark.parametrize(
    ("text", "status", "kind"),
    [
        (METAL + "Caused GPU Timeout Error (00000002:kIOGPUCommandBufferCallbackErrorTimeout)", 0, "timeout"),
        (METAL + "Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)", 0, "out_of_memory"),
        (METAL + "Internal Error (0000000e:Internal Error)", 0, "wrong_result"),
        (METAL + "Internal Error (0000000e:Internal Error)", -6, "timeout"),
    ],
)
def test_what_metal_prints_counts_even_after_success(text: str, status: int, kind: str) -> None:
    assert explain(text, status).kind == kind


def test_fallback_is_no_failure_and_names_every_operation() -> None:
    text = FALLS_BACK.format(op="sgn.out") + FALLS_BACK.format(op="nonzero") + FALLS_BACK.format(op="sgn.out")
    text += "UserWarning: MPS: sort op is supported natively starting from macOS 13.0. Falling back on CPU.\n"
    assert explain(text, 0).kind == Kind.FALLBACK
    assert fallback_ops(text) == ("aten::sgn.out", "aten::nonzero", "sort")
    assert explain(text, 1).kind == Kind.OTHER


def test_the_operation_of_a_lack_of_memory_is_the_last_call_of_the_traceback() -> None:
    text = (
        'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    return F.linear(x, w)\n'
        "RuntimeError: Invalid buffer size: 19.45 GB\n"
    )
    assert explain(text).op == "linear"


@pytest.mark.parametrize(
    ("text", "op"),
    [
        ("LayerNorm(192) rel=2.2e-01  <-- DIVERGED", "layer_norm"),
        ("Conv2d(3, 8) max abs diff: 3.5", "conv2d"),
        ("tensor([[[[1.0]]]], grad_fn=<ConvolutionBackward0>)\nEqual: False", "conv2d"),
        ("tensor([1.0], device='mps:0', grad_fn=<MulBackward0>)\nallclose: False", "mul"),
        ("results differ", None),
    ],
)
def test_a_wrong_result_names_the_operation_that_the_text_shows(text: str, op: str | None) -> None:
    found = explain(text)
    assert (found.kind, found.op) == (Kind.WRONG_RESULT, op)


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [("0, 1, 1688849860263945", "wrong_result"), ("1, 2, 3", "ok"), ("5000000000, 5000000001", "ok")],
)
def test_one_huge_number_among_small_ones_on_a_gpu_is_garbage(numbers: str, kind: str) -> None:
    assert explain(f"tensor([{numbers}], device='mps:0')").kind == kind


def test_a_few_bytes_refused_by_an_empty_gpu_are_advised_differently() -> None:
    text = "MPS backend out of memory (MPS allocated: {}, other allocations: 0 bytes, max allowed: 7.93 GB)."
    text += " Tried to allocate 256 bytes on private pool."
    assert explain(text.format("0 bytes")).advice != explain(text.format("16.00 GB")).advice


def test_every_kind_has_an_outcome_and_every_message_a_kind() -> None:
    assert set(OUTCOMES) == {kind.value for kind in Kind}
    assert all(sign.cause.advice for sign in SIGNS)


@settings(max_examples=100, deadline=None)
@given(text=st.text(max_size=300), status=st.none() | st.integers(-70, 300), timed_out=st.booleans())
def test_any_text_is_explained(text: str, status: int | None, *, timed_out: bool) -> None:
    found = explain(text, status, timed_out)
    assert isinstance(found, Explanation)
    assert found.op is None or found.op in text.lower() or "::" in found.op


def test_the_command_prints_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "log.txt"
    file.write_bytes(b"\xff\xfe TypeError: BFloat16 is not supported on MPS\n")
    command(file, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["kind", "op", "dtype", "advice", "requested_bytes"]
    assert (found["kind"], found["op"], found["dtype"]) == ("unsupported_op", None, "bfloat16")


def test_the_command_says_in_words_what_helps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "log.txt"
    file.write_text("MPS backend out of memory. Tried to allocate 2.00 GiB")
    command(file, exit=1)
    shown = capsys.readouterr().out
    assert "out_of_memory" in shown
    assert "2,147,483,648" in shown
    assert "smaller batch" in " ".join(shown.split())


def test_a_file_that_cannot_be_read_is_a_usage_problem(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="cannot be read"):
        command(tmp_path / "missing.txt")
