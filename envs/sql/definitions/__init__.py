"""Changes of schemas: designs of tables with their rules, requests for them, and probes of what a schema allows."""
