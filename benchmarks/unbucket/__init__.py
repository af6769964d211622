"""What giving up buckets is worth and costs; `python -m benchmarks.unbucket`."""
