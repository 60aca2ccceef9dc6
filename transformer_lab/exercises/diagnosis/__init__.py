"""Diagnosis: what is wrong with an answer whose mistake is not in the catalogue.

In order of reading: `explanation` (what is looked for, and in which order); `relations` and `tensor_changes` (how what
is returned is related to what is right); `repairs` (the search for changes of the learner's own source, of which
`right_parts` says whether they help); `source_tree` and `loop_limit` (a source that can be changed and run);
`mutation`, `mutations`, `call_mutations`, `missing_parts`, `statement_mutations`, `joint_mutations` and `replacements`
(the changes); `wording` (what is said).
"""

from transformer_lab.exercises.diagnosis.explanation import explain, with_tolerance

__all__ = ["explain", "with_tolerance"]
