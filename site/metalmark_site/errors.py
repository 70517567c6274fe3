"""Problems of the site itself."""

from metalmark_db.errors import MetalmarkError


class SiteProblem(MetalmarkError):
    """A site that cannot be drawn, built or served."""

    exit_code = 7
