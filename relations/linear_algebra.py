"""Linear algebra: determinants in the log domain, solving instead of inverting, traces without products."""

import numpy as np

from relgrad.relation import relation, same_shape


@relation(
    source="Golub & Van Loan 2013, section 3.2; the log of a product of pivots is the sum of their logs"
)
def log_of_determinant(x):
    """The log of a determinant, which itself may overflow or underflow."""
    sign, log = np.linalg.slogdet(x)
    return np.log(np.linalg.det(x)), np.where(sign >= 0, log, np.nan)


@relation(source="Golub & Van Loan 2013, section 3.2")
def log_of_absolute_determinant(x):
    """The log of the size of a determinant."""
    return np.log(np.abs(np.linalg.det(x))), np.linalg.slogdet(x)[1]


@relation(source="Golub & Van Loan 2013, section 3.2")
def log_of_power_of_determinant(x, y):
    """The log of a power of a determinant, which may be negative where the power is even."""
    sign, log = np.linalg.slogdet(x)
    multiple = np.where(np.logical_and(y == 0, log == -np.inf), 0, y * log)
    return np.log(np.linalg.det(x) ** y), np.where(sign**y >= 0, multiple, np.nan)


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


@relation(source="(xy)ᵢᵢ = Σⱼ xᵢⱼ·yⱼᵢ; Golub & Van Loan 2013, section 1.1")
def diagonal_of_product(x, y):
    """The diagonal of a product, and so its trace, needs no product."""
    diagonal = np.diagonal(np.matmul(x, y), 0, -2, -1)
    products = np.squeeze(np.sum(x * np.swapaxes(y, -1, -2), axis=-1, keepdims=True), -1)
    return diagonal, products, same_shape(diagonal, products)
