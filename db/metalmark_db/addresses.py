"""The addresses of the project, from one place: [project.urls] of the package's metadata."""

import os
from importlib import metadata


def repository() -> str | None:
    """Address of the repository, or None while the owner has not named one (METALMARK_REPOSITORY overrides)."""
    return os.environ.get("METALMARK_REPOSITORY") or _project_url("Repository")


def site() -> str | None:
    """Address of the published site, or None while there is none (METALMARK_SITE overrides)."""
    return os.environ.get("METALMARK_SITE") or _project_url("Site")


def version() -> str | None:
    """Version of the installed package, or None in a tree that was never installed."""
    try:
        return metadata.version("metalmark")
    except metadata.PackageNotFoundError:
        return None


def _project_url(label: str) -> str | None:
    try:
        entries = metadata.metadata("metalmark").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return None
    for entry in entries:
        name, _, address = str(entry).partition(",")
        if name.strip() == label:
            return address.strip() or None
    return None
