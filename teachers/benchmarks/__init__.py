"""Teachers compared on students: the tables of ``palaestra bench teachers``."""
