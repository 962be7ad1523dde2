"""What several questions of the bench share."""
