"""The update split over processes: one leads the run, the others compute their shares of its forwards and gradients."""
