"""Why a device cannot be used, as sentences that those who must not import torch know too."""

WITHOUT_MPS = "This torch was built without MPS: only builds for macOS on Apple silicon have it."
WITHOUT_CUDA = "This torch was built without CUDA; the build for NVIDIA GPUs comes from pytorch.org."
NO_METAL = (
    "torch sees no Metal device: this macOS is too old for this torch, or the process runs "
    "where the GPU is hidden (a sandbox, a container, a session without access to it)."
)
NO_CUDA_GPU = "torch sees no CUDA GPU: there is none, or its driver is missing or too old for this torch."
