"""For all tests: hypothesis judges what is found, never how long a busy machine took to find it."""

from hypothesis import settings

settings.register_profile("metalmark", deadline=None)
settings.load_profile("metalmark")
