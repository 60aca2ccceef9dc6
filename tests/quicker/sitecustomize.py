"""Each Python that tests start loads this first: it looks more rarely for what nothing refers to any more.

While torch, its compiler, matplotlib and the widgets are loaded there is nothing to find, and looking took a quarter of
the time.
"""

import gc

gc.set_threshold(50_000, 20, 100)
