"""What comes out of grading.

In reading order: `reports`, `pages`, `feedback`; `class_report` with `class_pictures`, `charts` and `to_look_at`;
`grade_tables`, `console`, `marking_page`, `single_result`; `summaries`, `term` and `term_page`.
"""
