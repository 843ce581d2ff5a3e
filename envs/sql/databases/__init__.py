"""Databases made from a seed: `domains` describes schemas, `relations` holds them, `contents` fills them with rows."""
