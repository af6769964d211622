"""Classes and decorators of an executed program, and what it asks about values and their classes."""
