"""Numeric verification of a conversion: runs the original and the converted program and compares them stage by stage.

Modules of this folder import at most numpy; TensorFlow and Paddle are imported only in the processes that run a model.
"""
