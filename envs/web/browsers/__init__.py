"""Browsers for agents, one in-process and one that is Chromium; registered in `browser.BROWSERS`."""
