"""One use case a module, its steps in order; the command line and a script call the same functions."""
