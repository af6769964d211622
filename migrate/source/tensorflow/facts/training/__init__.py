"""Training steps: which variables and gradients they use, and which variables their loss depends on."""
