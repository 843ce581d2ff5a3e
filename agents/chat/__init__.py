"""Chat endpoints as agents: requests with retries, limits and a cache; replies with thoughts and tool calls."""
