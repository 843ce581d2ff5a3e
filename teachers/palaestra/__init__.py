"""This project's own teacher."""
