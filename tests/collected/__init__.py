"""Wrong answers as students would write them, collected without a look at the catalogue of mistakes, in two halves.

Of the list as it was handed over, the entries with an even number were worked with while the diagnosis was improved;
those with an odd number were put aside unread. `python -m tests.collected` prints how many are told their cause.
"""
