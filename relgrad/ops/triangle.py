"""Nothing: triangles live in `relgrad.ops.moving`. To be deleted, with its line in the package."""
