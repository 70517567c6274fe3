"""The switches of torch that change speed or precision, set the same for everyone and recorded.

Only the older ``allow_tf32`` family is touched: mixing it with the newer ``fp32_precision``
raises RuntimeError.
"""

from metalmark_db.words import Precision


def apply(precision: Precision) -> dict[str, bool | str]:
    """Set every switch for ``precision``; gives what was set, by torch's own names."""
    import torch  # noqa: PLC0415 - importing this module must stay cheap

    tf32 = precision is Precision.TF32
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    # The library's own defaults, said aloud: an earlier case or a user's start-up file may have changed them.
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = True
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = True
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = False
    torch.use_deterministic_algorithms(mode=False)
    torch.set_default_dtype(torch.float32)
    return _read_back()


def _read_back() -> dict[str, bool | str]:
    import torch  # noqa: PLC0415

    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    return {
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "cuda.matmul.allow_tf32": matmul.allow_tf32,
        "cuda.matmul.allow_fp16_reduced_precision_reduction": matmul.allow_fp16_reduced_precision_reduction,
        "cuda.matmul.allow_bf16_reduced_precision_reduction": matmul.allow_bf16_reduced_precision_reduction,
        "cudnn.allow_tf32": cudnn.allow_tf32,
        "cudnn.benchmark": cudnn.benchmark,
        "cudnn.deterministic": cudnn.deterministic,
        "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
        "default_dtype": str(torch.get_default_dtype()).removeprefix("torch."),
    }
