"""Each Python that a worker starts loads this first: it looks more rarely for what nothing refers to any more.

While torch, its compiler, matplotlib and the widgets are loaded there is nothing to find, and looking took a quarter of
the time. The workers themselves look as usual, or what their tests leave would add up to gigabytes.
"""

import gc
import os

if "PYTEST_XDIST_WORKER" in os.environ:
    gc.set_threshold(50_000, 20, 100)
