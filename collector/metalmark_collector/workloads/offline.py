"""Transformers without its network and its remarks."""

import os


def offline() -> None:
    """Nothing is downloaded and nothing printed; called before transformers is imported, which reads them once."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
