"""Every place that refers to a variable: through names, attributes, containers, parameters and results."""
