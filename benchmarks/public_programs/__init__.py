"""Other people's programs beside `migrate run`: `python -m benchmarks.public_programs FOLDER`."""
