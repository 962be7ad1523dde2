"""Search: parse -> find -> choose -> write (mapper.py), on the CPU, and on a GPU in gpu/."""
