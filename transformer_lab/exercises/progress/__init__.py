"""A learner's stored work: `progress_store` is the file, `own_source` collects what an answer needs to run again."""
