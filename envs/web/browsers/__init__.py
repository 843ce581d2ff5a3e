"""Browsers for agents: one within this process, or Chromium; registered in `browser.BROWSERS`."""
