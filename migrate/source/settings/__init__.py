"""Settings of the user: options, selected rules, ignore comments."""
