"""Collection of a step's episodes: tasks are asked of the teacher, played, measured, judged, filtered and replayed."""
