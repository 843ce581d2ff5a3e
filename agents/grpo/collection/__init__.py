"""Collection of a step's episodes: tasks are proposed, played, measured, judged, filtered and mixed with replays."""
