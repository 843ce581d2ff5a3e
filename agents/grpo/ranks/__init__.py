"""The optimiser's steps of an update, in one process or shared by several: one leads the run, the others compute their
shares of its forwards and gradients, on copies of the models or on their parts of models that are split.
"""
