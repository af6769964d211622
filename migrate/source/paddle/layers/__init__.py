"""One spec for each layer of Paddle: its constructor, its weights, and what it returns."""
