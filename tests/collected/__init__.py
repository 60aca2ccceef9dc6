"""Wrong answers as students would write them, collected without a look at the catalogue of mistakes."""
