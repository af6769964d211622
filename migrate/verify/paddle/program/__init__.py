"""Eager Paddle programs, run as they are: both sides make the same steps, the original after the converted one."""
