"""Programs that time the runtime's embedding table beside stock TensorFlow, TFRA and a bare C++ loop. See README.md."""
