"""The views of the lessons, one folder each: Python that checks and sends, JavaScript that computes and draws."""
