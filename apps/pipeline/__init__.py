"""The assistant's pipeline: a Triton model repository, its models' work, its supervisor."""
