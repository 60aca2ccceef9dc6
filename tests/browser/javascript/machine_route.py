"""A small translator, which the page runs by itself."""

from tests.browser.javascript.machine_overview import numbers as numbers
