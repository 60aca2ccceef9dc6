"""What is kept of a learner's work: `progress_store` is the file, `own_source` what an answer needs to run again."""
