"""Ops between a variable and its lookups that work row by row, and gradients that are combined densely of lookups.

`gather(f(W), ids)` becomes `f(gather(W, ids))`, and a gradient with all rows that is zero but for the rows looked up
becomes one that is computed of these alone. The result is a graph of stock ops that computes the same and in which only
rows of the variable are read: the form in which it can become a table.
"""
