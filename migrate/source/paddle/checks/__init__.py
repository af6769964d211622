"""What a converted Paddle model cannot do: refusals."""
