"""The benchmark of web tasks: speed in both browsers beside BrowserGym, and whether the two browsers agree."""
