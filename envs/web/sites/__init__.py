"""Web sites: WSGI applications over SQLite databases generated from a seed; registered in `site.SITES`."""
