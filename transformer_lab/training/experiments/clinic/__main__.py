"""`python -m transformer_lab.training.experiments.clinic`: see `table`."""

import sys

from transformer_lab.training.experiments.clinic.table import main

if __name__ == "__main__":
    sys.exit(main())
