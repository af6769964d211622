"""Numeric proof of a conversion: runs original and converted side by side and compares them rung by rung.

This package's top imports numpy at most; TensorFlow and Paddle are imported only in the subprocesses that run a model.
"""
