"""Every place that mentions a variable, by names, attributes, containers, parameters and results."""
