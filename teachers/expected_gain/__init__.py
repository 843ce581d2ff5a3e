"""The teacher "palaestra": tasks are drawn in proportion to the expected squared gain of their return per outcome."""
