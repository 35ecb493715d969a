"""What is measured in one trial: one file for each experiment."""
