"""How DeepRec's programs get their batches: Parquet files, queues of file names, and prefetching."""
