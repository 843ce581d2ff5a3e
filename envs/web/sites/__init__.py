"""Web sites: WSGI applications over SQLite databases made from a seed; one file each, registered in `site.SITES`."""
