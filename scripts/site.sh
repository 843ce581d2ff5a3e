#!/usr/bin/env bash
# The documentation site: generated pages into docs/reference, docs into site, links checked; about half a minute.
# Usage: bash scripts/site.sh [--pages-only], from any folder. Then: python -m http.server -d site
set -euo pipefail
source "$(dirname "$0")/setup.sh"
nice python -m palaestra.tools.site "$@"
