"""What runs in the process of a public program: it imports nothing of ours."""
