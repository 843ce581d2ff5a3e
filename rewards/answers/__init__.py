"""How replies are read: what in them is the answer, in every format and style.

``extract`` gives the answer as it is written; ``readings`` gives the ways to read it, of which the first that has the
form asked for counts. Environments, ``verify(extract=...)`` and rewards all read by these.
"""

from __future__ import annotations

from .blocks import MAX_PROGRAM, fenced, program_in
from .formats import FORMATS, REQUESTS, check_format, present
from .marks import bare
from .readings import Form, extract, readings
from .thoughts import THOUGHTS, check_thoughts, without_thoughts

__all__ = [
    "FORMATS",
    "MAX_PROGRAM",
    "REQUESTS",
    "THOUGHTS",
    "Form",
    "bare",
    "check_format",
    "check_thoughts",
    "extract",
    "fenced",
    "present",
    "program_in",
    "readings",
    "without_thoughts",
]
