"""What programs of SOK find beside it: marks of a profiler, and what connects ranks."""
