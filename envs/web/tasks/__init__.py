"""Templates of web tasks: what is asked on a site, and how it is judged; registered in `template.TEMPLATES`."""
