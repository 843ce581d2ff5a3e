"""All generated pages of the site, not yet made."""

from __future__ import annotations

from .api_pages import api_pages
from .command_pages import command_pages
from .env_pages import env_pages
from .method_pages import method_pages
from .paper_page import paper_pages
from .recipe_pages import recipe_pages
from .site_page import SitePage


def site_pages() -> list[SitePage]:
    """List every generated page; the slow work happens when a page is made."""
    return [*env_pages(), *method_pages(), *recipe_pages(), *paper_pages(), *api_pages(), *command_pages()]
