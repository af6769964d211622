"""Changes a live graph as a plan says, and takes it back: edges, branches, partitions, Savers, inlined functions."""
