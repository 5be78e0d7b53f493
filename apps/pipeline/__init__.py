"""The assistant's pipeline: a Triton model repository, what its models do, and the supervisor that runs it."""
