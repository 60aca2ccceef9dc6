"""Many small training runs, whose results the lessons show.

`sweep` trains models of several sizes for several numbers of steps, `swaps` blocks of 2017 with later parts;
`side_by_side` trains copies of one model in a single loop; `answers` teaches one model to answer in many ways, and
`rewarding` keeps step by step what its rewards do, and `scatter` measures how much estimates of the gradient scatter;
`clinic` is a whole program, with bugs that can be put into it and tools that find them; `since_llama` tries the parts
of lesson 15.
"""
