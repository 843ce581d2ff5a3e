"""Forms that columns can have."""

from __future__ import annotations

import pytest
from palaestra.envs.sql.databases.domains import read_domains
from palaestra.envs.sql.queries.constructs.untidy_columns import list_forms

DOMAINS = {domain.domain: domain for domain in read_domains()}


@pytest.mark.parametrize(
    ("domain", "table", "field", "forms"),
    [
        ("shop", "customer", "segment", ["case"]),
        ("shop", "customer", "name", ["spaces"]),
        ("shop", "product", "price", ["currency EUR"]),
        ("shop", "product", "stock", ["mark -1"]),
        ("shop", "sale", "sold_on", ["dates"]),
        ("shop", "sale", "quantity", []),
        ("airline", "flight", "distance", ["unit km"]),
        ("university", "faculty", "founded", []),
        ("library", "author", "country", ["word N/A", "word ", "word -"]),
    ],
)
def test_forms_fit_the_values_of_a_column(domain, table, field, forms):
    assert list_forms(DOMAINS[domain][table][field]) == forms
