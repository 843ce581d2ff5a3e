"""The objective of a recipe: its components resolved, groups shaped and filtered, batches weighted, the loss."""
