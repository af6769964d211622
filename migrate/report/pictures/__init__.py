"""Pictures of a report as SVG: losses, memory. Their colours and lines are in the page's style.

Each is the same for the same numbers, readable without colours and by screen readers, and asks nothing of a network.
"""
