"""The fixtures that the tests of grading share: a sandbox starts once for each worker, and not before it is needed."""

from tests.grading.support import bwrap, sandbox

__all__ = ["bwrap", "sandbox"]
