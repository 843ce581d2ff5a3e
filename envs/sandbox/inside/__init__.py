"""Plain files that run inside the sandbox, without the package."""
