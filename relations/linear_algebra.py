"""Linear algebra: determinants in the log domain, solving instead of inverting, traces without products."""

import numpy as np

from relgrad.relation import relation, same_shape


@relation(source="Higham, Accuracy and Stability of Numerical Algorithms (2002), section 14.1")
def inverse_times(x, y):
    """An inverse times a matrix solves linear equations."""
    return np.matmul(np.linalg.inv(x), y), np.linalg.solve(x, y)


@relation(source="Higham, Accuracy and Stability of Numerical Algorithms (2002), section 14.1")
def times_inverse(x, y):
    """A matrix times an inverse solves the transposed linear equations."""
    return (
        np.matmul(y, np.linalg.inv(x)),
        np.swapaxes(np.linalg.solve(np.swapaxes(x, -1, -2), np.swapaxes(y, -1, -2)), -1, -2),
    )


@relation(source="Σᵢ (xy)ᵢᵢ = Σᵢⱼ xᵢⱼ·yⱼᵢ; Golub & Van Loan 2013, section 1.1")
def trace_of_product(x, y):
    """The trace of a product needs no product; its diagonal alone may stand beside other entries of it."""
    trace = np.sum(np.diagonal(np.matmul(x, y), 0, -2, -1), axis=-1, keepdims=True)
    turned = np.swapaxes(y, -1, -2)
    return trace, np.squeeze(np.sum(x * turned, axis=(-2, -1), keepdims=True), -1), same_shape(x, turned)
