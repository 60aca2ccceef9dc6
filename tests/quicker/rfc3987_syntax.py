"""In the way of the package of this name, in processes that tests start: see the same in conftest.py."""

raise ImportError("38 grammars for formats that no notebook has")
