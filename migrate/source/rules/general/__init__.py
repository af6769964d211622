"""Rules of all front ends."""
