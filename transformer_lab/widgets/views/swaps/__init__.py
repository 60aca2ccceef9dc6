"""The block of 2017 beside one with any of six later parts: its changes, its costs, and its measured loss."""
