"""Property tests try the same examples on every machine, however slow: timing never decides a test."""

from hypothesis import settings

settings.register_profile("localdp", deadline=None, derandomize=True)
settings.load_profile("localdp")
