"""What an agent acts with: a browser within this process, or Chromium; registered in `browser.BROWSERS`."""
