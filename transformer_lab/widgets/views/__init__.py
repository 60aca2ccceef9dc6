"""The views of the lessons, a folder each: Python that checks and sends, JavaScript that computes and draws."""
