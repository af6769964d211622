"""Configuration files, custom rules, and the filter of a report's findings."""
