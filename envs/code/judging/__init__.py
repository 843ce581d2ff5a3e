"""Reading and judging of answers that are programs: from the text of an answer to a verdict of tests in the sandbox."""
