"""Reports as bytes. Each format is a shape of its own, made from the report's JSON contract, not its internals."""
