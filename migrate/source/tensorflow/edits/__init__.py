"""From verdicts to edits of the text: the planner, steps, halves, what stands around a session."""
