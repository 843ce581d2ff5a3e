"""Tools that an agent calls in its replies: the protocol, and the base of environments that offer tools."""
