"""Services of the operating system: signals, standard streams, and files that appear complete."""
