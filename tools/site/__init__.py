"""The documentation site's generated half: one page for everything that is registered, from registries and docstrings.

``bash scripts/site.sh`` writes these pages into ``docs/reference`` (never committed), builds ``docs`` into ``site`` by
``mkdocs.yml`` and checks the result; hand-written pages are the other files of ``docs``. A kind of page is one module
here that returns `SitePage` objects; `site_map` collects them, and ``__main__`` writes, builds and checks.
"""
