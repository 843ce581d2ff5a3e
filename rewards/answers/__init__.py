"""Extraction of the answer from a reply, whatever format and style it is written in.

``extract`` returns the answer verbatim. ``readings`` yields several readings of the answer; the caller takes the first
one in the required form. Environments, ``verify(extract=...)`` and rewards all use these two.
"""

from __future__ import annotations

from .blocks import MAX_PROGRAM, fenced, program_in, query_in
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
    "query_in",
    "readings",
    "without_thoughts",
]
