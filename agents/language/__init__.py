"""Language models: tokenizers, rendering, the shared forward pass, loading and saving, and the agent that plays."""
