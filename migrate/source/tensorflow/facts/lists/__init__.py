"""Lists of variables: the calls that list them, the lists that programs write, and what reads both."""
