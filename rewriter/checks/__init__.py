"""What must hold after a rewrite, which is taken back otherwise; and the guard against uses that come later."""
