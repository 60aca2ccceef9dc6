"""A limit on the memory that an answer may take on top of the process's own, where the system allows it: on Linux."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

GIGABYTES = 4.0


@contextmanager
def memory_limit(gigabytes: float = GIGABYTES) -> Iterator[None]:
    """Make an allocation in the `with` block fail, rather than the session, once it takes this much more memory.

    A GPU's driver reserves more addresses than any limit; where there is one, none is set.
    """
    if sys.platform != "linux" or torch.cuda.is_available():
        yield
        return
    import resource

    pages = int(Path("/proc/self/statm").read_text("utf-8").split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + int(gigabytes * 1e9)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    lowest = min([most, *(one for one in (soft, hard) if one != resource.RLIM_INFINITY)])
    resource.setrlimit(resource.RLIMIT_AS, (lowest, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
