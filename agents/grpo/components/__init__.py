"""Components of the stages of a recipe; each file or folder is one stage."""
