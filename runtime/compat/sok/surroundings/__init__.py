"""What programs of SOK find beside it: how its parts communicate, marks of a profiler, and what connects ranks."""
