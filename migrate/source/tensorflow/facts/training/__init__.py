"""Training steps: which lists of variables and gradients they take, and what their loss depends on."""
