"""Problems from published data sets of programs: readers of their layouts, and the base of the families over them."""
