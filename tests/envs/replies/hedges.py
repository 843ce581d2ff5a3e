"""Replies that deny, doubt, bound or choose between the right answer {r} and a wrong one {w}, and so give neither."""

HEDGES = [
    *("Either the answer is {w} or the answer is {r}.", "The answer isn't: {r}", "Anything except: {r}"),
    *("A wrong answer is {r}", "It might be {r}", "If it is not {w}, it is {r}", "The opposite of the answer is {r}"),
    *("{w} =/= {r}", "{w} or {r}", "{r} or {w}", "The answer could be {r}.", "Maybe it is {r}", "It is not {r}."),
    *("An upper bound is {r}", "at most: {r}", "The answer is at least {r}", "It is {w}, or it is {r}."),
    *("\\boxed{{w}} or \\boxed{{r}}", "<answer>{w}</answer> or <answer>{r}</answer>", "{w} ≠ {r}", "Is it {r}?"),
    *("**{r}** is wrong", "I doubt that it is {r}", "It cannot be {r}", "Neither {w} nor {r}", "{r}\n\nOr {w}."),
    *("I am not sure, but it is {r} or {w}", "The answer is not {w} and not {r}", "Suppose it is {r}"),
]
