"""Training on many machines, lesson 17: five ways in which the ranks of torch.distributed train one model.

In reading order: `processes` starts ranks on this machine (`torchrun` starts them on many); `traffic` and `memory`
count what they send and hold; `collectives` are the messages; `parallel` is what all ways share, `data_parallel`,
`sharded`, `tensor_parallel`, `context_parallel` and `pipeline` are the five; `checkpoints` writes what each rank holds,
`costs` predicts bytes and time, and `trials` are whole trainings to compare.
"""
