"""Updates shared by several processes: one leads the run, the others compute their shares of its passes and gradients,
with copies of the models or with their shards of them."""
