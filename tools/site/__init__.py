"""Generated part of the documentation site: pages of everything that is registered, from registries and docstrings.

``bash scripts/site.sh`` writes these pages into ``docs/reference`` (never committed), builds ``docs`` into ``site`` by
``mkdocs.yml`` and checks the result; hand-written pages are the other files of ``docs``. Each kind of page is one
module here that returns `SitePage` objects; `site_map` collects them, and ``__main__`` writes, builds and checks.
"""
