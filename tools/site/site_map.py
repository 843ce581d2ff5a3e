"""List of all generated pages of the site, whose contents are made on demand."""

from __future__ import annotations

from .api_pages import api_pages
from .command_pages import command_pages
from .env_pages import env_pages
from .method_pages import method_pages
from .paper_page import paper_pages
from .recipe_pages import recipe_pages
from .site_page import SitePage


def site_pages() -> list[SitePage]:
    """Return every generated page; the slow work is done when the content of a page is made."""
    return [*env_pages(), *method_pages(), *recipe_pages(), *paper_pages(), *api_pages(), *command_pages()]
