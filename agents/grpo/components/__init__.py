"""The components of each stage of a recipe, by stage; each file or folder is one stage."""
