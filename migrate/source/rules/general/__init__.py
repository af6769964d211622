"""Rules of every frontend."""
