"""Benchmark of web tasks: speed in both browsers, compared with BrowserGym, and agreement of the two browsers."""
