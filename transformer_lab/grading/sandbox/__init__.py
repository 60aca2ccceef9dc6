"""Running answers that nobody has read.

In the grader's own process, in reading order: `sandbox`, `replies`, `launching`, `policy`, `containers`, `cgroups`.
Both sides speak `protocol`. Inside the sandbox run `supervisor`, `answer_process`, `session`,
`kernel` and `allowed_calls`.
"""
