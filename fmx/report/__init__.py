"""What runs tell of themselves: pages of HTML with figures, which need nothing else."""
