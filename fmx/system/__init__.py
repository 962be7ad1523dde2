"""What fmx asks of the operating system: signals, standard streams, files that appear whole."""
