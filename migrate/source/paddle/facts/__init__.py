"""What a Paddle model and its trainer are: classes, inputs, arguments."""
