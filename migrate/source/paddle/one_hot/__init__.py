"""Models whose only input is a wide row of numbers and one-hot groups, which a schema describes."""
