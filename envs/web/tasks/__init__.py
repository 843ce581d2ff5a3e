"""Templates of web tasks, each with its question and its judge; registered in `template.TEMPLATES`."""
