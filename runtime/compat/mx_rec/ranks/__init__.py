"""The number of this rank, collectives between ranks, and equal initial values of variables."""
