"""The calculus of finite steps: one program at two near points, without the cancellation of its values."""
