"""A symbolic interpreter of Paddle models, which does not need Paddle."""
