"""What grading needs, loaded by the process that the others are forked from.

No other thread may run in it, for a fork would not have it, and might wait for ever for a lock that it held. The
libraries that compute start theirs when they are loaded, unless they are told to use one.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import transformer_lab.grading.course  # noqa: F401
