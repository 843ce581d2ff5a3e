"""Random Python functions: a grammar of steps, their cases and bugs, slow functions, and runs of them.

`grammar` draws a function with its specification in English, `cases` draws arguments with their return values, `bugs`
puts mutations into it, and `slow_programs` draws slow functions with fast counterparts. Every choice comes from `dice`.
"""
