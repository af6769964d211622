"""Which programs of a vendor run under its façade: `python -m benchmarks.vendor deeprec DIRECTORY`."""
