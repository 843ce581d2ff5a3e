"""Language models: tokenizers, rendering, forward pass for sampling and training, loading, saving, and the agent."""
