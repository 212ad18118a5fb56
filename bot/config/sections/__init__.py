"""The sections of quartermaster.yaml, one module for each subject."""
