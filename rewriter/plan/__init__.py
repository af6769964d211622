"""Which edges move, as data: the plan, the rule and line behind each edit, the region around each table."""
