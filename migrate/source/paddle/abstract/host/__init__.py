"""What of a program runs in Python, outside of graphs: metrics of its own, and matrices of SciPy."""
