"""Templates of web tasks, each with a question, a goal and a scripted solver; registered in `template.TEMPLATES`."""
