"""What is said of a Paddle model."""
