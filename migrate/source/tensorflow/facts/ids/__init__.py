"""The origins of lookup ids, and the sessions and datasets that feed them."""
