"""What comes out of grading.

In reading order: `reports`, `pages`, `feedback`, `class_report`, `grade_tables`, `console`, `marking_page`;
`single_result`; `term` and `term_page`.
"""
