"""The block of 2017 beside one with any of six later parts: what changes, what it costs, the loss that was measured."""
