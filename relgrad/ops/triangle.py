"""Nothing: triangles live in `relgrad.ops.moving`. To be deleted with its line in `relgrad/ops/__init__.py`."""
