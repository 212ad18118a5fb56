"""What costs and is not used, gathered from all areas into one report."""
